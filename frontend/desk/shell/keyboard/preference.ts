const NAME = "desk-shortcuts";

/** Tells whether the shortcuts are on, which is a preference of this browser. */
export function areShortcutsOn(): boolean {
  try {
    return localStorage.getItem(NAME) !== "off";
  } catch {
    return true;
  }
}

/** Keeps whether the shortcuts are on. */
export function keepShortcutsOn(isOn: boolean): void {
  try {
    localStorage.setItem(NAME, isOn ? "on" : "off");
  } catch {
    // The browser keeps no preferences; the choice holds for this page.
  }
}
