import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { followLog } from "../api/calls";
import { bytes } from "../format";
import { plainText } from "../text";
import { IconButton, Segmented } from "../ui/controls";
import { Empty, Failed, Panel } from "../ui/Panel";
import type { JobRow } from "../wire/messages";
import styles from "./job.module.css";
import { keptCharacters, keptEnd } from "./livelog";
import { saveAs } from "./saveas";

/** How near to its end, in pixels, the log counts as being read at its end. */
const near = 24;

/** Hands a log's text to the browser as it is shown. */
export const saveLog = (job: string, text: string) => saveAs(`${job}.log`, text, "text/plain");

/** The log of a running attempt as it is written; it stays at its end until somebody scrolls up. */
export function LiveLog({ row }: { row: JobRow }) {
  const [text, setText] = useState("");
  const [error, setError] = useState<unknown>(null);
  const [turn, setTurn] = useState(0);
  const [follows, setFollows] = useState(true);
  const box = useRef<HTMLDivElement>(null);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another turn follows anew
  useEffect(() => {
    const abort = new AbortController();
    const follow = async () => {
      for await (const part of followLog(row.id, abort.signal)) setText((before) => keptEnd(before + part));
    };
    setText("");
    setError(null);
    follow().catch((why: unknown) => abort.signal.aborted || setError(why));
    return () => abort.abort();
  }, [row.id, turn]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: new text moves the end
  useLayoutEffect(() => {
    if (box.current && follows) box.current.scrollTop = box.current.scrollHeight;
  }, [text, follows]);

  const look = ({ currentTarget: b }: { currentTarget: HTMLDivElement }) => setFollows(b.scrollHeight - b.scrollTop - b.clientHeight < near);
  const side = text !== "" && (
    <>
      <span className={styles.deskOnly}>
        <Segmented
          label="What of the log is shown"
          value={follows ? "follow" : "all"}
          options={[
            ["follow", "Follow"],
            ["all", "All"],
          ]}
          onChange={(next) => {
            setFollows(next === "follow");
            if (next === "all" && box.current) box.current.scrollTop = 0;
          }}
        />
      </span>
      {follows && <span className={styles.follows}>follows</span>}
      <span className={styles.save}>
        <IconButton icon="download" label="Save the log" onPress={() => saveLog(row.id, text)} />
      </span>
    </>
  );
  return (
    <Panel title="Log" note={`attempt ${row.attempt}, last ${bytes(keptCharacters)}`} side={side} flush grow>
      {error !== null ? (
        <Failed error={error} again={() => setTurn(turn + 1)} />
      ) : text === "" ? (
        <Empty title="Nothing yet">What the tool writes is shown here as it comes.</Empty>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys
        <div className={styles.log} ref={box} onScroll={look} tabIndex={0} role="region" aria-label="Log, live">
          <pre>{plainText(text)}</pre>
        </div>
      )}
    </Panel>
  );
}
