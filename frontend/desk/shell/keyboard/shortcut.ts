/** A key that does something on a screen. */
export interface Shortcut {
  key: string;
  label: string;
  run: () => void;
}
