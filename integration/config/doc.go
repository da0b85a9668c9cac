// Package config holds the tests of configurations with the real providers: the schema and the page that are made from
// their keys, and what a setting or a variable changes on the wire.
package config
