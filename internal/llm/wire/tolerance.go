package wire

// Tolerance tells how much a server may do in ways of its own.
type Tolerance bool

const (
	// Strict is for servers of which the protocol is known well: what has no place in it is an error, since what it stood for would
	// be missing in the answer.
	Strict Tolerance = false
	// Lenient is for the many servers that imitate OpenAI's, and the proxies in front of them. An error may come with the status of a
	// success. The content type of a stream may be missing, and that of a document be any. Lines of a stream with an unknown
	// field are passed over, as the standard of server-sent events has it; "error" is one that holds an error. The last event may
	// lack the blank line after it if its data is whole: JSON, or Done.
	Lenient Tolerance = true
)

// Done is the data with which OpenAI ends some streams.
const Done = "[DONE]"
