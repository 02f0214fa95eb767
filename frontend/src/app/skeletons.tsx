/** Placeholder of the template screen while its script is loading. */
export function TemplateSkeleton() {
  return (
    <main aria-busy="true">
      <div className="h-16 border-b border-line" />
      <div className="mx-auto flex max-w-wall flex-col gap-8 px-5 py-5 sm:px-8 sm:py-8 lg:grid lg:grid-cols-[3fr_2fr] lg:gap-16 lg:px-12 lg:py-10">
        <div className="space-y-5 lg:order-2">
          <div className="h-12 w-3/4 bg-wall" />
          <div className="h-16 bg-wall" />
          <div className="h-32 bg-wall max-lg:hidden" />
          <div className="h-12 bg-wall max-lg:hidden" />
        </div>
        <div className="h-[26rem] bg-wall sm:h-[40rem]" />
      </div>
    </main>
  );
}

/** Placeholder of a screen with one sheet in the middle. */
export function SheetSkeleton() {
  return (
    <main aria-busy="true">
      <div className="h-16 border-b border-line" />
      <div className="mx-auto max-w-form space-y-8 px-5 py-10 sm:px-8 sm:py-16">
        <div className="h-14 w-3/4 bg-wall" />
        <div className="h-96 bg-wall" />
      </div>
    </main>
  );
}
