import { X } from "lucide-react";
import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useRef,
  useState,
} from "react";
import { Button, IconButton } from "./button.tsx";

/** A short message about what happened, with the way back. */
interface Toast {
  text: string;
  undo?: () => void;
}

/** Milliseconds for which a message stays, unless the pointer or the focus is on it. */
const DISPLAY_TIME = 8_000;

const ToastContext = createContext<(toast: Toast) => void>(() => undefined);

/** Returns the function that shows a message and announces it to screen readers. */
export function useToast(): (toast: Toast) => void {
  return useContext(ToastContext);
}

/** Shows one message at a time above the screen. */
export function ToastProvider({ children }: { children: ReactNode }) {
  const [current, setCurrent] = useState<{ toast: Toast; id: number }>();
  const [isHeld, setHeld] = useState(false);
  const last = useRef(0);

  const show = useCallback((toast: Toast) => {
    last.current += 1;
    setHeld(false);
    setCurrent({ toast, id: last.current });
  }, []);

  useEffect(() => {
    if (!current || isHeld) return;
    const timer = setTimeout(() => setCurrent(undefined), DISPLAY_TIME);
    return () => clearTimeout(timer);
  }, [current, isHeld]);

  return (
    <ToastContext value={show}>
      {children}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: only holds the message while it is read */}
      <div
        onMouseEnter={() => setHeld(true)}
        onMouseLeave={() => setHeld(false)}
        onFocus={() => setHeld(true)}
        onBlur={() => setHeld(false)}
        className="pointer-events-none fixed inset-x-4 bottom-20 z-40 flex justify-center lg:bottom-6"
      >
        <div role="status" className="min-w-0">
          {current && (
            <div
              key={current.id}
              className="pointer-events-auto flex max-w-120 animate-rise items-center gap-1 rounded-large border border-line bg-sheet py-1.5 pr-1.5 pl-4 shadow-high"
            >
              <p className="mr-2 py-1 text-small wrap-anywhere">{current.toast.text}</p>
              {current.toast.undo && (
                <Button
                  onClick={() => {
                    current.toast.undo?.();
                    setCurrent(undefined);
                  }}
                >
                  Undo
                </Button>
              )}
              <IconButton icon={X} label="Dismiss" onClick={() => setCurrent(undefined)} />
            </div>
          )}
        </div>
      </div>
    </ToastContext>
  );
}
