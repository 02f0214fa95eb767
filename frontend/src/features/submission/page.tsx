import { usePageHead } from "../../shared/page-head.ts";
import { paths } from "../../shared/paths.ts";
import { TopBar } from "../../shared/ui/top-bar.tsx";
import { ReceivedCard } from "./received-card.tsx";
import { SubmissionForm } from "./submission-form.tsx";
import { useSubmission } from "./use-submission.ts";

/** The screen with the submission form. */
export function SubmissionPage() {
  const submission = useSubmission();
  usePageHead({ title: "Submit your details", path: paths.submission });
  return (
    <>
      <TopBar />
      <main className="mx-auto max-w-form px-5 py-8 sm:px-8 sm:py-14 lg:py-20">
        <h1 tabIndex={-1} className="mb-6 text-figure sm:mb-10 sm:text-poster">
          Submit Your Details
        </h1>
        {submission.state === "received" ? (
          <ReceivedCard />
        ) : (
          <section className="border border-line bg-sheet p-5 shadow-low sm:p-10">
            <h2 className="text-title">Submission</h2>
            <p className="mt-1 text-ink-soft">Complete the form to send us your details.</p>
            <SubmissionForm {...submission} />
          </section>
        )}
      </main>
    </>
  );
}
