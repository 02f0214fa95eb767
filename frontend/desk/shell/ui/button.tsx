import { LoaderCircle, type LucideIcon } from "lucide-react";
import type { ComponentProps, ReactNode } from "react";

/** `main` is the action of a screen, `plain` every other, `danger` what cannot be undone. */
type ButtonKind = "main" | "plain" | "quiet" | "danger";

const SHAPE =
  "inline-flex min-h-10 items-center justify-center gap-2 rounded-medium border px-3.5 py-1.5 text-center text-small font-strong transition-colors duration-150 lg:min-h-9 aria-disabled:opacity-60";

const KIND: Record<ButtonKind, string> = {
  main: "border-ink bg-ink text-paper hover:border-ink-soft hover:bg-ink-soft",
  plain: "border-edge bg-sheet text-ink hover:border-ink-soft hover:bg-wall",
  quiet: "border-transparent bg-transparent text-ink-soft hover:bg-wall hover:text-ink",
  danger: "border-danger bg-danger text-on-danger hover:opacity-90",
};

/** Returns the classes of a button, or of a link that looks like one. */
export function buttonClass(kind: ButtonKind): string {
  return `${SHAPE} ${KIND[kind]}`;
}

interface ButtonProps extends Omit<ComponentProps<"button">, "disabled"> {
  kind?: ButtonKind;
  icon?: LucideIcon;
  /** Whether the action runs. The button keeps the focus and does nothing. */
  isPending?: boolean;
  /** Whether the action is not available now. The button can still be focused. */
  isDisabled?: boolean;
  children: ReactNode;
}

/** A button with the pending state of its action. */
export function Button(props: ButtonProps) {
  const { kind = "plain", icon: Icon, isPending = false, isDisabled = false } = props;
  const { kind: _, icon: __, isPending: ___, isDisabled: ____, ...rest } = props;
  const isOff = isPending || isDisabled;
  const iconClass = "size-4 shrink-0";
  return (
    <button
      type="button"
      {...rest}
      aria-disabled={isOff || undefined}
      aria-busy={isPending || undefined}
      onClick={(event) => {
        if (isOff) event.preventDefault();
        else props.onClick?.(event);
      }}
      className={`${buttonClass(kind)} ${props.className ?? ""}`}
    >
      {isPending ? (
        <LoaderCircle aria-hidden="true" className={`${iconClass} animate-spin`} />
      ) : (
        Icon && <Icon aria-hidden="true" className={iconClass} />
      )}
      {props.children}
    </button>
  );
}

interface IconButtonProps extends Omit<ButtonProps, "children"> {
  icon: LucideIcon;
  /** The name of the action, which is not visible. */
  label: string;
}

/** A button that shows only an icon. */
export function IconButton({ label, className = "", ...props }: IconButtonProps) {
  const classes = `w-10 shrink-0 px-0 lg:w-9 ${className}`;
  return (
    <Button {...props} kind={props.kind ?? "quiet"} title={label} className={classes}>
      <span className="sr-only">{label}</span>
    </Button>
  );
}
