import { Check, Copy, Download } from "lucide-react";
import { useState } from "react";
import { Button } from "../ui/button.tsx";
import { saveFile } from "../ui/save-file.ts";
import { formatCodes } from "./recovery-codes.ts";

interface RecoveryCodeListProps {
  codes: readonly string[];
  shop: string;
  email: string;
}

/** New recovery codes: to copy, to save, to print. */
export function RecoveryCodeList({ codes, shop, email }: RecoveryCodeListProps) {
  const [isCopied, setCopied] = useState(false);
  const text = formatCodes(codes, shop, email);

  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
    } catch {
      // The codes can be selected.
    }
  }

  return (
    <div className="space-y-3">
      <ol
        aria-label="Recovery codes"
        className="space-y-1 rounded-medium bg-wall px-4 py-3 text-small select-all"
      >
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ol>
      <div className="flex flex-wrap gap-2">
        <Button
          icon={Download}
          onClick={() => saveFile(new Blob([text], { type: "text/plain" }), "recovery-codes.txt")}
        >
          Save as a file
        </Button>
        <Button icon={isCopied ? Check : Copy} onClick={() => void copy()}>
          {isCopied ? "Copied" : "Copy"}
        </Button>
      </div>
    </div>
  );
}
