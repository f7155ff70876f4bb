import { type ReactNode, useId, useState } from "react";
import { Button as AriaButton, type ButtonProps as AriaButtonProps } from "react-aria-components/Button";
import styles from "./controls.module.css";
import { Icon, type IconName } from "./Icon";

/** Buttons and fields. */

export interface ButtonProps extends Omit<AriaButtonProps, "className" | "style"> {
  tone?: "default" | "primary" | "danger" | "link";
  small?: boolean;
  icon?: IconName;
  /** Why it is off; shown on hover and told with the name. */
  why?: string | undefined;
  children?: ReactNode;
}

export function Button({ tone = "default", small, icon, why, children, isDisabled, ...rest }: ButtonProps) {
  const off = isDisabled || Boolean(why);
  return (
    <span title={off ? why : undefined} className={styles.wrap}>
      <AriaButton {...rest} isDisabled={off} className={`${styles.button} ${styles[tone]} ${small ? styles.small : ""}`}>
        {icon && <Icon name={icon} size={small ? 14 : 16} />}
        {children}
      </AriaButton>
    </span>
  );
}

/** A square button of an icon alone. */
export function IconButton({ icon, label, ...rest }: Omit<AriaButtonProps, "className" | "style"> & { icon: IconName; label: string }) {
  return (
    <AriaButton {...rest} aria-label={label} className={`${styles.button} ${styles.square}`}>
      <Icon name={icon} />
    </AriaButton>
  );
}

export interface FieldProps {
  label: string;
  name: string;
  value: string;
  onChange(value: string): void;
  type?: "text" | "password";
  autoComplete?: string;
  hint?: ReactNode;
  error?: string | undefined;
  required?: boolean;
  focus?: boolean;
}

export function Field({ label, name, value, onChange, type = "text", autoComplete = "off", hint, error, required, focus }: FieldProps) {
  const note = error ?? hint;
  const id = useId();
  return (
    <div className={styles.field}>
      <label htmlFor={id} className={styles.label}>
        {label}
      </label>
      <input
        id={id}
        className={styles.input}
        name={name}
        type={type}
        value={value}
        required={required}
        // biome-ignore lint/a11y/noAutofocus: the one field of a page or sheet that was just opened
        autoFocus={focus}
        autoComplete={autoComplete}
        autoCapitalize="off"
        spellCheck={false}
        aria-invalid={error ? true : undefined}
        aria-describedby={note ? `${id}-note` : undefined}
        onChange={(e) => onChange(e.target.value)}
      />
      {note && (
        <span id={`${id}-note`} className={error ? styles.error : styles.hint} role={error ? "alert" : undefined}>
          {note}
        </span>
      )}
    </div>
  );
}

/** One of a few. */
export function Segmented<T extends string>({
  label,
  value,
  options,
  onChange,
  wide,
}: {
  label: string;
  value: T;
  options: [T, string][];
  onChange(value: NoInfer<T>): void;
  /** Over the whole width, each as wide as the others. */
  wide?: boolean;
}) {
  return (
    <fieldset className={`${styles.segmented} ${wide ? styles.wide : ""}`}>
      <legend className="visually-hidden">{label}</legend>
      {options.map(([option, text]) => (
        <button key={option} type="button" aria-pressed={option === value} onClick={() => onChange(option)}>
          {text}
        </button>
      ))}
    </fieldset>
  );
}

/** Copies a text and says so in place. */
export function Copy({ text, label, children }: { text: string; label: string; children?: ReactNode }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(text).catch(() => undefined);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <AriaButton className={`${styles.button} ${children ? styles.small : styles.bare}`} aria-label={done ? "Copied" : label} onPress={copy}>
      <Icon name={done ? "check" : "copy"} size={14} />
      {children && (done ? "Copied" : children)}
    </AriaButton>
  );
}
