import type { ReactNode } from "react";
import { useStale } from "../live/live";
import { Button } from "../ui/controls";
import styles from "./dryrun.module.css";

export const reasonLabel = "Reason, kept in the audit log";

export interface ConfirmProps {
  text: string;
  tone?: "primary" | "danger";
  busy: boolean;
  /** Why it can't be confirmed yet. */
  off?: string | undefined;
  note?: ReactNode;
  onClose(): void;
  onConfirm(): void;
}

/** The foot of a sheet: what it leaves behind, Cancel, and the button that does it. */
export function Confirm({ text, tone = "danger", busy, off, note, onClose, onConfirm }: ConfirmProps) {
  const stale = useStale();
  return (
    <>
      {note && <p className={styles.note}>{note}</p>}
      <Button onPress={onClose}>Cancel</Button>
      <Button tone={tone} onPress={onConfirm} isDisabled={busy} why={stale ? "No word from the server" : off}>
        {text}
      </Button>
    </>
  );
}
