/** Placeholder of the template screen while its script is loading. */
export function TemplateSkeleton() {
  return (
    <main aria-busy="true">
      <div className="h-16 border-b border-line" />
      <div className="mx-auto grid max-w-wall gap-10 px-5 py-8 sm:px-8 lg:grid-cols-[3fr_2fr] lg:gap-16 lg:px-12">
        <div className="aspect-4/5 bg-wall" />
        <div className="space-y-6 max-lg:hidden">
          <div className="h-12 w-3/4 bg-wall" />
          <div className="h-32 bg-wall" />
          <div className="h-56 bg-wall" />
        </div>
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
