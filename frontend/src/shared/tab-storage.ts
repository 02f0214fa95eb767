/**
 * What is kept for this tab until it is closed. Where storage is full or forbidden, nothing is kept, and the shop works
 * without it.
 */
export const tabStorage = {
  read(name: string): string | null {
    try {
      return sessionStorage.getItem(name);
    } catch {
      return null;
    }
  },

  write(name: string, value: string): void {
    try {
      sessionStorage.setItem(name, value);
    } catch {
      // Nothing is kept.
    }
  },

  remove(name: string): void {
    try {
      sessionStorage.removeItem(name);
    } catch {
      // Nothing was kept.
    }
  },
};
