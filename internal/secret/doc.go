// Package secret keeps the credential of a call, and the words of a provider, out of what is logged.
package secret
