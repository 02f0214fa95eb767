/** Defines `Symbol.asyncDispose` where the runtime lacks it, so that `await using` works when it is compiled. */
function defineAsyncDispose(): void {
  if (Symbol.asyncDispose === undefined) {
    Object.defineProperty(Symbol, "asyncDispose", { value: Symbol.for("Symbol.asyncDispose") });
  }
}

defineAsyncDispose();
