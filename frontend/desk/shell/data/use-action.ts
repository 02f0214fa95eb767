import { useCallback, useRef, useState } from "react";
import type { Result } from "../../../src/shared/result.ts";
import type { Failure } from "./failure.ts";

/** Something that the user can start, with its pending and its failed state. */
export interface Action<Parameters extends unknown[], Value> {
  /** Starts it; returns `undefined` if it failed or is already running. */
  run: (...parameters: Parameters) => Promise<Value | undefined>;
  isPending: boolean;
  failure: Failure | undefined;
  /** Removes the failure. */
  reset: () => void;
}

/** Wraps a request that changes something. `onDone` runs after a success. */
export function useAction<Parameters extends unknown[], Value>(
  act: (...parameters: Parameters) => Promise<Result<Value, Failure>>,
  onDone?: (value: Value) => void,
): Action<Parameters, Value> {
  const [isPending, setPending] = useState(false);
  const [failure, setFailure] = useState<Failure>();
  // A second click can precede the rendering of the disabled button.
  const isRunning = useRef(false);

  async function run(...parameters: Parameters): Promise<Value | undefined> {
    if (isRunning.current) return undefined;
    isRunning.current = true;
    setPending(true);
    setFailure(undefined);
    let outcome: Result<Value, Failure>;
    try {
      outcome = await act(...parameters);
    } finally {
      isRunning.current = false;
      setPending(false);
    }
    if (outcome.ok) {
      onDone?.(outcome.value);
      return outcome.value;
    }
    setFailure(outcome.error);
    return undefined;
  }

  const reset = useCallback(() => setFailure(undefined), []);
  return { run, isPending, failure, reset };
}
