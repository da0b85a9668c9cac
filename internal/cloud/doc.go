// Package cloud is what the simulated clouds have in common: exact replies on a schedule, a log of requests,
// a server that can be closed while its handlers hang, scripts, and faults. It knows no vendor.
//
// A simulated cloud turns a request into a [Reply] and lets [Exchange.Play] send it. The answers to n requests
// are a script of [Turn]s: steps of package llmtest, which the cloud plays as its vendor would, or exact bytes.
// A fault (see [ParseFault]) bends one answer; it comes with the turn, or from the client in the request header
// [FaultHeader].
//
// A cloud keeps all of that in an [Account], which hands out the turn of each request, and plays a step by [PlayStep]. One
// that is to answer by itself where its script is silent does so by [Improvise], and makes the arguments of tools and
// structured output with [Instance].
//
// Two phases of a call happen before a server can act. A connection that is never made is [BlackHole]; a
// credential that is never had is the matter of whoever supplies the credential. A step that names one of them
// is played as if it said headers: the request is read and nothing comes.
package cloud
