import { MessageLine } from "../../shared/message-line.tsx";
import { Time } from "../../shell/format/time.tsx";
import type { OrderDetail } from "./api.ts";
import { nameEvent } from "./model.ts";

/** The messages to the buyer, and what the provider reported. */
export function OrderHistory({ order: { messages, events } }: { order: OrderDetail }) {
  return (
    <>
      <section aria-labelledby="messages">
        <h3 id="messages" className="mb-3 text-small text-ink-soft">
          Messages
        </h3>
        {messages.length === 0 ? (
          <p className="text-ink-soft">No message was sent yet.</p>
        ) : (
          <ul className="space-y-4">
            {messages.map((message) => (
              <li key={message.id}>
                <MessageLine message={message} />
              </li>
            ))}
          </ul>
        )}
      </section>
      {events.length > 0 && (
        <section aria-labelledby="events">
          <h3 id="events" className="mb-3 text-small text-ink-soft">
            Events
          </h3>
          <ol className="space-y-3 border-l border-line pl-4">
            {events.map(({ at, kind, detail }) => (
              <li key={`${at} ${kind} ${detail}`} className="relative">
                <span
                  aria-hidden="true"
                  className="absolute top-2 -left-[1.2rem] size-1.5 rounded-full bg-edge"
                />
                <p>
                  {nameEvent(kind)}{" "}
                  <span className="text-small text-ink-soft">
                    · <Time at={at} isFull />
                  </span>
                </p>
                {detail && (
                  <p className="text-small wrap-anywhere text-ink-soft first-letter:uppercase">
                    {detail}
                  </p>
                )}
              </li>
            ))}
          </ol>
        </section>
      )}
    </>
  );
}
