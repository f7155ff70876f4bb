import type { ReactNode } from "react";
import { Button as AriaButton } from "react-aria-components/Button";
import { Dialog } from "react-aria-components/Dialog";
import { Heading } from "react-aria-components/Heading";
import { Menu as AriaMenu, MenuItem, MenuTrigger } from "react-aria-components/Menu";
import { Modal, ModalOverlay } from "react-aria-components/Modal";
import { Popover } from "react-aria-components/Popover";
import { IconButton } from "./controls";
import styles from "./floating.module.css";

/** What floats above a page: sheets and menus. */

export interface SheetProps {
  title: string;
  open: boolean;
  onClose(): void;
  /** The pinned foot, with the confirming button. */
  foot?: ReactNode;
  children: ReactNode;
}

/** From the right on a desk, from the bottom on a phone. Esc and Cancel close it; focus returns. */
export function Sheet({ title, open, onClose, foot, children }: SheetProps) {
  return (
    <ModalOverlay isOpen={open} onOpenChange={(o) => !o && onClose()} isDismissable className={styles.scrim ?? ""}>
      <Modal className={styles.sheet ?? ""}>
        <Dialog className={styles.dialog ?? ""}>
          <header className={styles.head}>
            <Heading slot="title" level={2}>
              {title}
            </Heading>
            <IconButton icon="close" label="Close" onPress={onClose} />
          </header>
          <div className={styles.body}>{children}</div>
          {foot && <footer className={styles.foot}>{foot}</footer>}
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

export interface MenuEntry {
  id: string;
  text: string;
  onAction(): void;
  off?: boolean;
}

/** A menu behind any content that looks like a button. */
export function Menu({ label, entries, children, className }: { label: string; entries: MenuEntry[]; children: ReactNode; className?: string }) {
  return (
    <MenuTrigger>
      <AriaButton aria-label={label} className={className ?? styles.trigger ?? ""}>
        {children}
      </AriaButton>
      <Popover className={styles.popover ?? ""}>
        <AriaMenu aria-label={label} disabledKeys={entries.filter((e) => e.off).map((e) => e.id)}>
          {entries.map((e) => (
            <MenuItem key={e.id} id={e.id} onAction={e.onAction} className={styles.item ?? ""}>
              {e.text}
            </MenuItem>
          ))}
        </AriaMenu>
      </Popover>
    </MenuTrigger>
  );
}
