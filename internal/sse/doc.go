// Package sse rewrites server-sent event streams into a form every SDK reads.
//
// The parsers in front of LLM streams are weaker than the streams. One gives
// up after 300 lines that are not data and finds an error only if its JSON is
// spelled {"error": without a blank; another aborts at the first comment; most
// end in silence when the last frame is half a frame. A [Reader] stands between
// the wire and such a parser and hands it one shape only:
//
//	data: <JSON on one line>
//	<empty line>
//
// What it does on the way:
//
//   - A byte-order mark, comments and id, event and retry lines are removed.
//     Lines may end in LF, CR or CRLF, also when the CR and the LF arrive in
//     different reads.
//   - The data lines of one event are joined. An event leaves at the end of the
//     line that completes it ([DONE], or one whole JSON value), not at the empty
//     line after it: a provider that reports an error and then falls silent is
//     heard at once.
//   - A line that starts with { or [ counts as data even without "data:", and so
//     do the lines after it until the JSON is whole. Other unknown lines are
//     ignored, as the standard asks.
//   - An object with an "error" member that says something (not null, false or
//     "") is rewritten to begin with it, and is kept for [Reader.ErrorPayload].
//     An empty one that leads the object is removed, because a parser that looks
//     for {"error": would take it for a failure. Data under "event: error" that
//     has no such member is wrapped in one.
//   - Data that is not JSON is passed on at the empty line, on one line, so that
//     the SDK fails loudly. Only an empty event, and the text of one named ping,
//     heartbeat or keep-alive, disappears.
//   - An event cut off by the end of the stream is passed on as it is, and the
//     stream then ends in [ErrUnfinished] in place of io.EOF: a broken event
//     first, and no clean end for parsers that skip broken events. When the
//     stream ends in another error, that error says enough and the broken event
//     is dropped.
//
// An event may have up to 16 MiB. Each byte is looked at a fixed number of
// times, whatever the number of lines and reads it arrives in, and buffers are
// used again, so a running stream allocates nothing.
package sse
