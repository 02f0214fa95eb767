import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { Button } from "../ui/button.tsx";
import { groupSecret, readQrDrawing } from "./totp.ts";

interface Totp {
  secret: string;
  /** The QR code. */
  qr_svg: string;
}

/** A new TOTP secret: the QR code, and the text for apps without a camera. */
export function TotpSecret({ totp }: { totp: Totp }) {
  const [isCopied, setCopied] = useState(false);
  const drawing = readQrDrawing(totp.qr_svg);

  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(totp.secret);
      setCopied(true);
    } catch {
      // The secret can be selected.
    }
  }

  return (
    <div className="mb-6">
      {drawing && (
        <div className="mx-auto mb-4 w-fit rounded-medium border border-line bg-[white] p-2">
          <svg
            role="img"
            aria-label="QR code for the authenticator app"
            viewBox={drawing.viewBox}
            shapeRendering="crispEdges"
            className="size-44"
          >
            <path d={drawing.path} fill="black" />
          </svg>
        </div>
      )}
      <p className="text-small text-ink-soft">
        {drawing ? "If the camera does not work, enter this key:" : "Enter this key in the app:"}
      </p>
      <div className="mt-2 flex items-center gap-2">
        <code className="min-w-0 flex-1 rounded-medium bg-wall px-3 py-2 text-small wrap-anywhere select-all">
          {groupSecret(totp.secret)}
        </code>
        <Button icon={isCopied ? Check : Copy} onClick={() => void copy()}>
          {isCopied ? "Copied" : "Copy"}
        </Button>
      </div>
    </div>
  );
}
