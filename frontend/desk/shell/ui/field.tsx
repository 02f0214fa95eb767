import { ChevronDown } from "lucide-react";
import { type ComponentProps, type ReactNode, useId } from "react";

const CONTROL =
  "w-full rounded-medium border border-edge bg-sheet px-3 text-body text-ink placeholder:text-ink-soft aria-invalid:border-danger";

interface FrameProps {
  label: string;
  hint?: ReactNode;
  error?: string | undefined;
  /** Whether the label is only for screen readers. */
  isLabelHidden?: boolean;
}

interface FieldIds {
  id: string;
  describedBy: string | undefined;
}

/** A label, a control, its hint and its error. */
function Field(props: FrameProps & { children: (ids: FieldIds) => ReactNode }) {
  const { label, hint, error, isLabelHidden = false, children } = props;
  const id = useId();
  const parts = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean);
  return (
    <div className="min-w-0">
      <label
        htmlFor={id}
        className={isLabelHidden ? "sr-only" : "mb-1.5 block text-small font-strong"}
      >
        {label}
      </label>
      {children({ id, describedBy: parts.length > 0 ? parts.join(" ") : undefined })}
      {hint && (
        <p id={`${id}-hint`} className="mt-1.5 text-small text-ink-soft">
          {hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} className="mt-1.5 text-small font-strong text-danger">
          {error}
        </p>
      )}
    </div>
  );
}

type Frame<Control> = FrameProps & Omit<Control, keyof FrameProps | "id" | "className">;

/** A text field of one line. */
export function TextField(props: Frame<ComponentProps<"input">>) {
  const { label, hint, error, isLabelHidden, ...control } = props;
  return (
    <Field {...frameOf(props)}>
      {({ id, describedBy }) => (
        <input
          {...control}
          id={id}
          aria-describedby={describedBy}
          aria-invalid={error ? true : undefined}
          className={`${CONTROL} min-h-10`}
        />
      )}
    </Field>
  );
}

/** A text field of several lines. */
export function TextArea(props: Frame<ComponentProps<"textarea">>) {
  const { label, hint, error, isLabelHidden, ...control } = props;
  return (
    <Field {...frameOf(props)}>
      {({ id, describedBy }) => (
        <textarea
          {...control}
          id={id}
          aria-describedby={describedBy}
          aria-invalid={error ? true : undefined}
          className={`${CONTROL} field-sizing-content max-h-96 min-h-28 resize-y py-2`}
        />
      )}
    </Field>
  );
}

/** A choice of one value. */
export function SelectField(props: Frame<ComponentProps<"select">>) {
  const { label, hint, error, isLabelHidden, ...control } = props;
  return (
    <Field {...frameOf(props)}>
      {({ id, describedBy }) => (
        <div className="relative">
          <select
            {...control}
            id={id}
            aria-describedby={describedBy}
            className={`${CONTROL} min-h-10 appearance-none truncate pr-9`}
          />
          <ChevronDown
            aria-hidden="true"
            className="pointer-events-none absolute top-3 right-3 size-4 text-ink-soft"
          />
        </div>
      )}
    </Field>
  );
}

function frameOf({ label, hint, error, isLabelHidden = false }: FrameProps): FrameProps {
  return { label, hint, error, isLabelHidden };
}
