import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useEffect, useState } from "react";
import { setUp, signIn } from "../api/calls";
import { Refusal } from "../api/client";
import { entered } from "../session";
import { Front } from "../shell/Front";
import { Button, Field } from "../ui/controls";

const shortest = 12;
const longest = 128;

/** The token stands behind #: no server and no log ever sees it. */
function tokenOfLink(): string {
  return new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
}

/** Makes the first superadmin from the one-time link that the first start prints. */
export function Setup() {
  const navigate = useNavigate();
  const [token, setToken] = useState(tokenOfLink);
  const [linked] = useState(token !== "");
  const [name, setName] = useState("admin");
  const [password, setPassword] = useState("");
  const [again, setAgain] = useState("");
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);
  const size = new TextEncoder().encode(password).length;

  useEffect(() => {
    if (location.hash) history.replaceState(null, "", location.pathname); // it must not stay in the history
  }, []);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (size < shortest || size > longest) return setProblem(`The password needs ${shortest} to ${longest} bytes.`);
    if (password !== again) return setProblem("The two passwords differ.");
    setBusy(true);
    setProblem(undefined);
    try {
      await setUp({ setupToken: token.trim(), name, password });
      entered(await signIn(name, password));
      await navigate({ to: "/", replace: true });
    } catch (error) {
      setProblem(error instanceof Refusal ? error.detail : "Setting up failed.");
      setBusy(false);
    }
  };

  return (
    <Front title="Set up">
      <p>You become the first superadmin of this control plane. There is no default password.</p>
      <form onSubmit={submit}>
        {!linked && (
          <Field
            label="Setup token"
            name="token"
            value={token}
            onChange={setToken}
            hint="The server printed it at its first start: rps_ and 43 characters."
            required
          />
        )}
        <Field label="Name" name="username" value={name} onChange={setName} autoComplete="username" required />
        <Field
          label="Password"
          name="password"
          type="password"
          value={password}
          onChange={setPassword}
          autoComplete="new-password"
          hint={`At least ${shortest} characters.`}
          required
          focus
        />
        <Field label="Password, again" name="again" type="password" value={again} onChange={setAgain} autoComplete="new-password" error={problem} required />
        <Button tone="primary" type="submit" isDisabled={busy}>
          {busy ? "Setting up" : "Set up"}
        </Button>
      </form>
    </Front>
  );
}
