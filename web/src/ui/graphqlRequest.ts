/** A request for the command line that does the same as a button of the dashboard. */
export function curlRequest(query: string, variables: Record<string, unknown>): string {
  const body = [
    "{",
    `    "query": ${JSON.stringify(query)},`,
    `    "variables": ${JSON.stringify(variables)}`,
    "  }",
  ].join("\n");
  return curlCommand(body);
}

/** The key itself stays out of it: what is copied from here may end up in a script. */
export function curlCommand(body: string): string {
  return [
    `curl ${location.origin}/graphql \\`,
    `  -H "Authorization: Bearer $OSTLER_API_KEY" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '${body.replaceAll("'", "'\\''")}'`,
  ].join("\n");
}
