/** What a snippet is about. */
export interface SnippetOf {
  /** The address of the server, such as `https://ostler.example.com`. */
  origin: string;
  /** Null for a session on the organization's default harness alone. */
  agentId: string | null;
}

export const LANGUAGES = ["curl", "JavaScript", "Python", "Go"] as const;
export type Language = (typeof LANGUAGES)[number];

const MESSAGE = "What time is it in Tokyo?";

/**
 * A whole program: it makes a session, sends a message, and prints the tools and the answers as they come. It stops, and
 * says why, where something is refused or the turn waits for somebody.
 */
export function snippet(language: Language, of: SnippetOf): string {
  return { curl, JavaScript: javaScript, Python: python, Go: go }[language](of);
}

const input = ({ agentId }: SnippetOf) => (agentId ? `{ agentId: "${agentId}" }` : "{}");
const create = (of: SnippetOf) =>
  `mutation { createSession(input: ${input(of)}) { session { id } userErrors { message } } }`;
const send = `mutation ($session: ID!, $text: String!) {
  sendMessage(input: { sessionId: $session, content: [{ text: $text }] }) { turn { id } userErrors { message } }
}`;
const watch = `subscription ($session: ID!) {
  sessionEvents(sessionId: $session, after: 0) {
    kind
    ... on ToolCompleted { toolName }
    ... on TurnWaiting { waits { kind } }
    ... on OutputCompleted { message { content { ... on TextPart { text } } } }
  }
}`;
const oneLine = (document: string) => document.replace(/\s+/g, " ");

function curl(of: SnippetOf): string {
  const body = (document: string, variables: string) =>
    `{"query": ${JSON.stringify(oneLine(document))}, "variables": ${variables}}`;
  return `ask() {
  curl -sS ${of.origin}/graphql -H "Authorization: Bearer $OSTLER_API_KEY" \\
    -H "Content-Type: application/json" "$@"
}

created=$(ask -d '${body(create(of), "{}")}')
session=$(echo "$created" | sed -n 's/.*"id":"\\([^"]*\\)".*/\\1/p')
[ -n "$session" ] || { echo "$created"; exit 1; }

sent=$(ask -d '${body(send, `{"session": "'$session'", "text": "${MESSAGE}"}`)}')
echo "$sent"
case $sent in *'"turn":{'*) ;; *) exit 1 ;; esac

# Each event as it comes, until you stop it.
ask -N -H "Accept: text/event-stream" \\
  -d '${body(watch, `{"session": "'$session'"}`)}'
`;
}

function javaScript(of: SnippetOf): string {
  return `// Node.js 20 or newer: node ask.mjs
const ask = (query, variables, accept = "application/json") =>
  fetch("${of.origin}/graphql", {
    method: "POST",
    headers: {
      Authorization: \`Bearer \${process.env.OSTLER_API_KEY}\`,
      "Content-Type": "application/json",
      Accept: accept,
    },
    body: JSON.stringify({ query, variables }),
  });

async function change(query, variables) {
  const { data, errors } = await (await ask(query, variables)).json();
  const answer = data && Object.values(data)[0];
  const problem = errors?.[0] ?? answer.userErrors[0];
  if (problem) throw new Error(problem.message);
  return answer;
}

const created = await change(\`${create(of)}\`);
const session = created.session.id;

await change(\`${send}\`, { session, text: "${MESSAGE}" });

const events = await ask(\`${watch}\`, { session }, "text/event-stream");

let rest = "";
for await (const text of events.body.pipeThrough(new TextDecoderStream())) {
  const lines = (rest + text).split("\\n");
  rest = lines.pop();
  for (const line of lines) {
    if (!line.startsWith("data: {")) continue;
    const event = JSON.parse(line.slice(6)).data.sessionEvents;
    if (event.toolName) console.log("→", event.toolName);
    for (const part of event.message?.content ?? []) if (part.text) console.log(part.text);
    if (event.waits) console.log("Waits for", event.waits.map(({ kind }) => kind).join(", "));
    if (event.waits || event.kind === "SESSION_IDLED") process.exit();
  }
}
`;
}

function python(of: SnippetOf): string {
  return `import json, os, sys, urllib.request


def ask(query, variables={}, accept="application/json"):
    return urllib.request.urlopen(urllib.request.Request(
        "${of.origin}/graphql",
        json.dumps({"query": query, "variables": variables}).encode(),
        {
            "Authorization": "Bearer " + os.environ["OSTLER_API_KEY"],
            "Content-Type": "application/json",
            "Accept": accept,
        },
    ))


def change(query, variables={}):
    answer = json.load(ask(query, variables))
    payload = next(iter((answer["data"] or {}).values()), None)
    problems = answer.get("errors") or payload["userErrors"]
    if problems:
        sys.exit(problems[0]["message"])
    return payload


session = change("""${create(of)}""")["session"]["id"]

change("""${send}""", {"session": session, "text": "${MESSAGE}"})

for line in ask("""${watch}""", {"session": session}, "text/event-stream"):
    if not line.startswith(b"data: {"):
        continue
    event = json.loads(line[6:])["data"]["sessionEvents"]
    if "toolName" in event:
        print("→", event["toolName"])
    for part in event.get("message", {}).get("content", []):
        if "text" in part:
            print(part["text"])
    if "waits" in event:
        print("Waits for", ", ".join(wait["kind"] for wait in event["waits"]))
    if "waits" in event or event["kind"] == "SESSION_IDLED":
        break
`;
}

function go(of: SnippetOf): string {
  return `package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
)

func ask(query string, variables map[string]any, accept string) *http.Response {
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		log.Fatal(err)
	}
	request, err := http.NewRequest("POST", "${of.origin}/graphql", bytes.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("OSTLER_API_KEY"))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", accept)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	return response
}

type problem struct{ Message string }

// change runs a mutation, and returns the session that it made.
func change(query string, variables map[string]any) (session string) {
	var answer struct {
		Errors []problem
		Data   map[string]struct {
			Session    struct{ ID string }
			UserErrors []problem
		}
	}
	if err := json.NewDecoder(ask(query, variables, "application/json").Body).Decode(&answer); err != nil {
		log.Fatal(err)
	}
	problems := answer.Errors
	for _, field := range answer.Data {
		problems = append(problems, field.UserErrors...)
		session = field.Session.ID
	}
	if len(problems) > 0 {
		log.Fatal(problems[0].Message)
	}
	return session
}

func main() {
	session := change(\`${create(of)}\`, nil)

	change(\`${send}\`, map[string]any{"session": session, "text": "${MESSAGE}"})

	events := ask(\`${watch}\`, map[string]any{"session": session}, "text/event-stream")
	lines := bufio.NewScanner(events.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, found := strings.CutPrefix(lines.Text(), "data: {")
		if !found {
			continue
		}
		var event struct {
			Data struct {
				SessionEvents struct {
					Kind, ToolName string
					Message        struct{ Content []struct{ Text string } }
					Waits          []struct{ Kind string }
				}
			}
		}
		if err := json.Unmarshal([]byte("{"+data), &event); err != nil {
			log.Fatal(err)
		}
		e := event.Data.SessionEvents
		if e.ToolName != "" {
			fmt.Println("→", e.ToolName)
		}
		for _, part := range e.Message.Content {
			fmt.Println(part.Text)
		}
		for _, wait := range e.Waits {
			fmt.Println("Waits for", wait.Kind)
		}
		if len(e.Waits) > 0 || e.Kind == "SESSION_IDLED" {
			return
		}
	}
}
`;
}
