import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { followLog } from "../api/calls";
import { plainText } from "../text";
import { Empty, Failed } from "../ui/Panel";
import styles from "./job.module.css";
import { keptEnd } from "./livelog";

/** How near to its end, in pixels, the log counts as being read at its end. */
const near = 24;

/** The log of a running attempt as it is written; it stays at its end until somebody scrolls up. */
export function LiveLog({ id }: { id: string }) {
  const [text, setText] = useState("");
  const [error, setError] = useState<unknown>(null);
  const [turn, setTurn] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another turn follows anew
  useEffect(() => {
    const abort = new AbortController();
    const follow = async () => {
      for await (const part of followLog(id, abort.signal)) setText((before) => keptEnd(before + part));
    };
    setText("");
    setError(null);
    follow().catch((why: unknown) => abort.signal.aborted || setError(why));
    return () => abort.abort();
  }, [id, turn]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: new text moves the end
  useLayoutEffect(() => {
    if (box.current && atEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text]);

  if (error !== null) return <Failed error={error} again={() => setTurn(turn + 1)} />;
  if (text === "") return <Empty title="Nothing yet">What the tool writes is shown here as it comes.</Empty>;
  const look = ({ currentTarget: b }: { currentTarget: HTMLDivElement }) => {
    atEnd.current = b.scrollHeight - b.scrollTop - b.clientHeight < near;
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys
    <div className={styles.log} ref={box} onScroll={look} tabIndex={0} role="region" aria-label="Log, live">
      <pre>{plainText(text)}</pre>
    </div>
  );
}
