import { X } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef } from "react";
import { IconButton } from "./button.tsx";

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ReactNode;
}

/** A modal dialog. It is open while it is rendered; the browser keeps the focus inside and returns it. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const element = dialog.current;
    const opener = document.activeElement;
    element?.showModal();
    return () => {
      element?.close();
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      className="m-auto w-[min(32rem,calc(100vw-2rem))] animate-rise rounded-large border border-line bg-sheet p-0 text-ink shadow-high"
    >
      <div className="flex items-start justify-between gap-3 px-5 pt-4">
        <h2 id={heading} tabIndex={-1} className="pt-1 text-lead wrap-anywhere">
          {title}
        </h2>
        <IconButton icon={X} label="Close" onClick={onClose} className="-mr-2" />
      </div>
      <div className="px-5 pt-2 pb-5">{children}</div>
    </dialog>
  );
}
