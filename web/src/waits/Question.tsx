import type { FormEvent } from "react";
import { useAction } from "@/api/useAction";
import { AnswerQuestionDocument } from "@/gql/graphql";
import { Button } from "@/ui/Button";
import { Problems } from "@/ui/Problems";
import { useStoredState } from "@/ui/useStoredState";
import { WhyNot } from "./WhyNot";
import type { WaitProps } from "./wait";

/** A question of the agent, with the answers that it suggests and room for any other one. */
export function Question({ wait, onResolved }: WaitProps) {
  const [text, setText] = useStoredState(sessionStorage, `ostler.answer.${wait.id}`, "");
  const answer = useAction(AnswerQuestionDocument);
  const send = async (chosen: string) => {
    if (chosen === "" || !(await answer.run({ waitId: wait.id, answer: chosen }))) return;
    setText("");
    onResolved();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void send(text.trim());
  };
  return (
    <>
      <p className="text-base whitespace-pre-wrap wrap-anywhere">{wait.question}</p>
      <WhyNot wait={wait} />
      <Problems of={answer} />
      {wait.viewerMayResolve && (
        <form onSubmit={submit} className="space-y-2">
          {wait.options.length > 0 && (
            <fieldset className="flex flex-wrap gap-2">
              <legend className="sr-only">Suggested answers</legend>
              {wait.options.map((option) => (
                <Button
                  key={option}
                  disabled={answer.busy}
                  className="h-auto min-h-8 py-1 text-left whitespace-normal"
                  onClick={() => void send(option)}
                >
                  {option}
                </Button>
              ))}
            </fieldset>
          )}
          <div className="flex items-end gap-2">
            <textarea
              aria-label="Your answer"
              placeholder={wait.options.length > 0 ? "Or answer in your own words" : "Your answer"}
              rows={1}
              className="control field-sizing-content max-h-60 min-h-8 flex-1 resize-none"
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
            <Button look="primary" type="submit" disabled={answer.busy || text.trim() === ""}>
              Answer
            </Button>
          </div>
        </form>
      )}
    </>
  );
}
