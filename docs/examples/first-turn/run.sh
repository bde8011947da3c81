#!/usr/bin/env bash
# The first turn, by plain GraphQL: sign in, create an agent and a session, send a message, watch every event.
#
#   npm ci
#   OSTLER_PASSWORD=… ./run.sh "Write hello world to file notes.txt and then read it back"
#
# The server prints its address, and at its first start the e-mail and the password. It needs curl and Node.js 20.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

export OSTLER_URL=${OSTLER_URL:-http://127.0.0.1:8080} OSTLER_TOKEN=
export email=${OSTLER_EMAIL:-admin@localhost}
export password=${OSTLER_PASSWORD:?set OSTLER_PASSWORD to the password that the server printed at its first start}
export text=${1:-Write hello world to file notes.txt and then read it back}
export name=first-turn-$$-$RANDOM harness agent session

# graphql DOCUMENT PATH [NAME…] runs an operation with the shell's variables of these names, and prints the value at the
# path of its data. An answer with errors, or with userErrors, ends the script.
graphql() {
  local path=$2
  document=$1 node -p '
    const names = process.argv.slice(1);
    const variables = Object.fromEntries(names.map((name) => [name, process.env[name]]));
    JSON.stringify({ query: process.env.document, variables })' "${@:3}" |
    curl --silent --show-error --fail-with-body "$OSTLER_URL/graphql" \
      --header "Content-Type: application/json" --header "Authorization: Bearer $OSTLER_TOKEN" --data-binary @- |
    node -e '
      const { data, errors } = JSON.parse(require("fs").readFileSync(0, "utf8"));
      const wrong = errors ?? Object.values(data).flatMap((payload) => payload.userErrors ?? []);
      if (wrong.length > 0) { console.error(wrong); process.exit(1); }
      console.log(process.argv[1].split(".").reduce((value, name) => value[name], data));' "$path"
}

OSTLER_TOKEN=$(graphql '
  mutation ($email: String!, $password: String!) {
    signIn(input: { email: $email, password: $password }) {
      tokens { accessToken }
      userErrors { code message }
    }
  }' signIn.tokens.accessToken email password)
echo "signed in as $email"

harness=$(graphql '{ harnesses(search: "generic") { nodes { id } } }' harnesses.nodes.0.id)

agent=$(graphql '
  mutation ($name: String!, $harness: ID!) {
    createAgent(input: { name: $name, harnessId: $harness, systemPrompt: "You are a helpful assistant." }) {
      agent { id }
      userErrors { code message path }
    }
  }' createAgent.agent.id name harness)
echo "created $agent"

session=$(graphql '
  mutation ($agent: ID!) {
    createSession(input: { agentId: $agent, title: "The first turn" }) {
      session { id }
      userErrors { code message path }
    }
  }' createSession.session.id agent)
echo "created $session"

# From here on every event is printed, until the session is at rest again. Those before the subscription come first, so
# it doesn't matter whether the message is sent before it or after.
node events.mjs "$session" &
watching=$!
trap 'kill "$watching" 2>/dev/null || true' EXIT

graphql '
  mutation ($session: ID!, $text: String!) {
    sendMessage(input: { sessionId: $session, content: [{ text: $text }] }) {
      turn { id }
      userErrors { code message path }
    }
  }' sendMessage.turn.id session text > /dev/null

wait "$watching"
