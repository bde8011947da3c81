// What a page of a Relay application asks for; only relay-compiler reads it.
import { graphql } from "react-relay";

graphql`
  query SessionsQuery($count: Int!, $cursor: Cursor, $session: ID!) {
    ...Sessions_list
    node(id: $session) {
      id
      ... on Session {
        title
      }
    }
  }
`;

graphql`
  fragment Sessions_list on Query
  @refetchable(queryName: "SessionsPaginationQuery") {
    sessions(first: $count, after: $cursor) @connection(key: "Sessions_sessions") {
      edges {
        node {
          id
          title
        }
      }
    }
  }
`;

graphql`
  mutation SessionsSendMutation($input: SendMessageInput!) {
    sendMessage(input: $input) {
      message {
        id
        sequence
      }
      userErrors {
        code
        message
      }
    }
  }
`;

graphql`
  subscription SessionsEventsSubscription($session: ID!, $after: Int) {
    sessionEvents(sessionId: $session, after: $after) {
      kind
      sequence
      ... on OutputDelta {
        messageId
        offset
        delta
      }
    }
  }
`;
