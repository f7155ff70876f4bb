import { useNavigate } from "@tanstack/react-router";
import { Command } from "cmdk";
import { useState } from "react";
import { Dialog } from "react-aria-components/Dialog";
import { Modal, ModalOverlay } from "react-aria-components/Modal";
import { useTopic } from "../live/live";
import { isSuperadmin, useSession } from "../session";
import { nodeState } from "../state";
import { nextTheme, setTheme, useTheme } from "../theme";
import { Glyph } from "../ui/Glyph";
import { signOutNow, themeNames } from "./actions";
import styles from "./palette.module.css";
import { placesFor } from "./places";

const most = 8;

/** Search of nodes, pools and jobs that are loaded, and everything that can be run. */
export function Palette({ onClose }: { onClose(): void }) {
  const [words, setWords] = useState("");
  const navigate = useNavigate();
  const theme = useTheme();
  const session = useSession();
  const nodes = useTopic("nodes").rows;
  const pools = useTopic("pools").rows;
  const jobs = useTopic("jobs").rows;
  const wanted = words.trim().toLowerCase();
  const hit = (text: string) => text.toLowerCase().includes(wanted);
  const found = <T extends { id: string }>(rows: T[], text: (row: T) => string) => (wanted === "" ? [] : rows.filter((r) => hit(text(r))).slice(0, most));
  const then = (act: () => void) => () => {
    onClose();
    act();
  };
  const actions: [string, () => void][] = [
    ...placesFor(session).flatMap((g) => g.places.map((p): [string, () => void] => [`Go to ${p.text}`, () => navigate({ to: p.to })])),
    ...(isSuperadmin(session)
      ? [
          ["Add node", () => navigate({ to: "/", search: { add: true } })] satisfies [string, () => void],
          ["Create pool", () => navigate({ to: "/", search: { create: true } })] satisfies [string, () => void],
        ]
      : []),
    [`Theme: ${themeNames[nextTheme[theme]]}`, () => setTheme(nextTheme[theme])],
    ["Sign out", signOutNow],
  ];
  return (
    <ModalOverlay isOpen onOpenChange={(open) => !open && onClose()} isDismissable className={styles.scrim ?? ""}>
      <Modal className={styles.modal ?? ""}>
        <Dialog aria-label="Search or run" className={styles.dialog ?? ""}>
          <Command label="Search or run" shouldFilter={false} loop>
            <Command.Input value={words} onValueChange={setWords} placeholder="Search or run" autoFocus />
            <Command.List>
              <Command.Empty>Nothing loaded matches.</Command.Empty>
              {found(nodes, (n) => n.id).map((n) => (
                <Command.Item key={`n ${n.id}`} value={`n ${n.id}`} onSelect={then(() => navigate({ to: "/nodes/$id", params: { id: n.id } }))}>
                  <Glyph of={nodeState(n)} /> <span className="mono">{n.id}</span> <small>{n.pool}</small>
                </Command.Item>
              ))}
              {found(pools, (p) => `${p.id} ${p.name}`).map((p) => (
                <Command.Item key={`p ${p.id}`} value={`p ${p.id}`} onSelect={then(() => navigate({ to: "/pools/$id", params: { id: p.id } }))}>
                  <Glyph of="new" /> {p.id} <small>pool</small>
                </Command.Item>
              ))}
              {found(jobs, (j) => `${j.id} ${j.app} ${j.runner}`).map((j) => (
                <Command.Item key={`j ${j.id}`} value={`j ${j.id}`} onSelect={then(() => navigate({ to: "/jobs/$id", params: { id: j.id } }))}>
                  <Glyph of={j.state} /> <span className="mono">{j.id}</span> <small>{j.app}</small>
                </Command.Item>
              ))}
              {actions
                .filter(([text]) => hit(text))
                .map(([text, act]) => (
                  <Command.Item key={text} value={text} onSelect={then(act)}>
                    {text}
                  </Command.Item>
                ))}
            </Command.List>
          </Command>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
