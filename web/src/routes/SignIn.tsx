import { useNavigate, useSearch } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { signIn } from "../api/calls";
import { Refusal } from "../api/client";
import { entered } from "../session";
import { Front } from "../shell/Front";
import { Button, Field } from "../ui/controls";

/** What to say to somebody who was refused. */
function words(error: unknown): string {
  if (!(error instanceof Refusal)) return "Signing in failed.";
  if (error.status === 401) return "The name or the password is wrong.";
  if (error.status === 429) return `Too many tries. Wait ${Math.max(1, error.retryAfter)} s, then try again.`;
  return error.detail;
}

export function SignIn() {
  const { to } = useSearch({ from: "/sign-in" });
  const navigate = useNavigate();
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(undefined);
    try {
      entered(await signIn(name, password));
      // Only a path of this console: a link must not lead out of it.
      await navigate({ href: to && /^\/(?![/\\])/.test(to) ? to : "/", replace: true });
    } catch (error) {
      setProblem(words(error));
      setPassword("");
      setBusy(false);
    }
  };

  return (
    <Front title="Sign in">
      <form onSubmit={submit}>
        <Field label="Name" name="username" value={name} onChange={setName} autoComplete="username" required focus />
        <Field
          label="Password"
          name="password"
          type="password"
          value={password}
          onChange={setPassword}
          autoComplete="current-password"
          required
          error={problem}
        />
        <Button tone="primary" type="submit" isDisabled={busy}>
          {busy ? "Signing in" : "Sign in"}
        </Button>
      </form>
    </Front>
  );
}
