interface LiveMailProps {
  title: string;
  path: string;
  isNarrow: boolean;
  isDark: boolean;
}

/**
 * The mail itself, in a frame without scripts and without the origin of the shop; the server sends it with the same sandbox. Its
 * links lead nowhere; its body takes the focus, so that it is scrolled by keyboard. Where the browser passes the colours of the
 * frame on, a dark mailbox is shown.
 */
export function LiveMail({ title, path, isNarrow, isDark }: LiveMailProps) {
  return (
    <iframe
      key={`${path} ${isDark}`}
      title={title}
      src={path}
      sandbox=""
      style={{ colorScheme: isDark ? "dark" : "light" }}
      className={`mx-auto block h-[min(46rem,80vh)] w-full border-0 bg-sheet shadow-high ${isNarrow ? "sm:max-w-94" : "sm:max-w-150"}`}
    />
  );
}
