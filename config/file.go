package config

import (
	"time"
)

// Duration is a time in a file: "30s", "1m30s", "250ms". A number alone has no unit and is an error.
type Duration time.Duration

// String is the duration as Go writes it.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes what a file may hold.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// File is the key tree of the YAML. The decoder, the schema and docs/configuration.md are made from it: the doc, min,
// max and enum of a field are in its tags.
type File struct {
	Plans     map[string]FilePlan `yaml:"plans" doc:"What each operation may spend. The plan named default is for all operations; keys that a plan leaves out are those of default."`
	Retry     FileRetry           `yaml:"retry" doc:"Retries of one target, for all operations."`
	Breaker   FileBreaker         `yaml:"breaker" doc:"When a target is left alone for a while."`
	Emergency *bool               `yaml:"emergency" doc:"Switches retries and hedges off; fallback stays." default:"false"`
	Targets   []FileTarget        `yaml:"targets" doc:"The ways to reach a model; their order is the order of fallback. Without this key the targets are those of the environment."`
}

// FilePlan is what one operation may spend.
type FilePlan struct {
	Attempt      Duration  `yaml:"attempt" min:"1ms" max:"24h" doc:"Limit of one attempt; of a stream until its first content." default:"60s; triage 30s, orchestration 90s, generation 45s"`
	Total        Duration  `yaml:"total" min:"1ms" max:"24h" doc:"Limit of the whole call over all targets; of a stream until its first content." default:"attempt times the number of targets, counted as 2 at least and 3 at most"`
	Connect      Duration  `yaml:"connect" min:"1ms" max:"24h" doc:"Limit of connecting, TLS included." default:"10s each"`
	FirstContent Duration  `yaml:"first_content" min:"1ms" max:"24h" doc:"Limit of a stream from the start of an attempt to its first content." default:"attempt"`
	Idle         Duration  `yaml:"idle" min:"1ms" max:"24h" doc:"Limit of a stream between two pieces of content." default:"attempt, at most 30s"`
	Tries        *int      `yaml:"tries" min:"0" max:"1000" doc:"Tries of the whole call over all targets; 0 is no limit." default:"no limit"`
	Targets      []string  `yaml:"targets" doc:"Names of the targets to ask, in order." default:"all, in their order"`
	MaxRetries   *int      `yaml:"max_retries" min:"0" max:"100" doc:"How often one target is asked again; 0 is never." default:"that of retry"`
	Hedge        FileHedge `yaml:"hedge" doc:"A second target beside a slow first one."`
	Watch        string    `yaml:"watch" enum:"auto,on,off" doc:"Whether calls without a stream are streamed inside, so that first_content and idle hold for them." default:"auto"`
	FallbackOn   []string  `yaml:"fallback_on" doc:"Kinds of error after which the next target is asked although by default none is, such as content_filtered."`
	AtMostOnce   *bool     `yaml:"at_most_once" doc:"Never send again what may have been billed." default:"false"`
	NoLastResort *bool     `yaml:"no_last_resort" doc:"Refuse a call when every target is refused, in place of asking one whose breaker is open." default:"false"`
}

// FileHedge is when a second target is asked beside the first.
type FileHedge struct {
	After *Duration `yaml:"after" min:"0" max:"24h" doc:"How long without content until a second target is asked; 0 is never." default:"never"`
	Share *float64  `yaml:"share" min:"0" max:"1" doc:"The share of calls that may be hedged; 0 is none." default:"0.05"`
}

// FileRetry is how one target is asked again.
type FileRetry struct {
	MaxRetries *int      `yaml:"max_retries" min:"0" max:"100" doc:"How often one target is asked again; 0 is never." default:"3"`
	Base       *Duration `yaml:"base" min:"0" max:"24h" doc:"The wait before the first retry, twice as long before each further one; 0 is the shortest there is, 100ms." default:"1s"`
	Max        *Duration `yaml:"max" min:"0" max:"24h" doc:"The longest wait; a server that asks for more is heard. 0 is no wait." default:"10s"`
	Jitter     string    `yaml:"jitter" enum:"full,decorrelated,none," doc:"How waits are spread." default:"\"\", which is +-25 %"`
	Tokens     *int      `yaml:"tokens" min:"-1" max:"1000000" doc:"The bucket of a target that retries of all calls are paid from, 10 each; -1 is no limit." default:"100"`
}

// FileBreaker is when a target is left alone.
type FileBreaker struct {
	Threshold float64  `yaml:"threshold" min:"0.5" max:"1000" doc:"The sum of failures since the last success that opens the breaker; a timeout counts half." default:"3"`
	OpenFor   Duration `yaml:"open_for" min:"1ms" max:"24h" doc:"How long it stays open until one call probes, +-10 %." default:"300s"`
}

// FileTarget is one way to reach a model. The keys that are not here are the provider's own.
type FileTarget struct {
	Name       string     `yaml:"name" doc:"What plans, routes and the trail call it. Required, unique."`
	Provider   string     `yaml:"provider" doc:"Who answers: azure, bedrock, vertex, openai, or what else the program was built with. Required."`
	Pool       string     `yaml:"pool" doc:"Targets of one pool are one position in the order and are drawn by weight." default:"alone"`
	Weight     int        `yaml:"weight" min:"1" max:"1000000" doc:"The share of calls within the pool." default:"1"`
	QuotaGroup string     `yaml:"quota_group" doc:"Targets that share a quota are left alone together when one is throttled." default:"alone"`
	Tags       []string   `yaml:"tags" doc:"Words that a request may route by."`
	Limits     FileLimits `yaml:"limits" doc:"Limits of this target; they shorten the plan's and never lengthen them."`
	Can        FileCan    `yaml:"can" doc:"What the model can, where it differs from what the provider says."`
	// Settings stands for the provider's own keys. They are decoded by Target.Settings, never into here: they may be secrets.
	Settings map[string]any `yaml:",inline"`
}

// FileLimits shorten a plan's limits for one target.
type FileLimits struct {
	Attempt      Duration `yaml:"attempt" min:"1ms" max:"24h" doc:"Limit of one attempt." default:"the plan's"`
	Connect      Duration `yaml:"connect" min:"1ms" max:"24h" doc:"Limit of connecting." default:"the plan's"`
	FirstContent Duration `yaml:"first_content" min:"1ms" max:"24h" doc:"Limit until the first content." default:"the plan's"`
	Idle         Duration `yaml:"idle" min:"1ms" max:"24h" doc:"Limit between two pieces of content." default:"the plan's"`
}

// FileCan is what a target can; what is left out is as its provider says.
type FileCan struct {
	ContextWindow int      `yaml:"context_window" min:"0" max:"1000000000" doc:"Tokens of input and output together." default:"unknown"`
	MaxOutput     int      `yaml:"max_output" min:"0" max:"1000000000" doc:"Tokens of output." default:"unknown"`
	Lacks         []string `yaml:"lacks" enum:"tools,tool_choice,parallel_tools,image,document,audio,video,json_schema,thinking,cache,seed,stop,stream" doc:"What it cannot carry."`
	Streams       *bool    `yaml:"streams" doc:"It can stream."`
	Silent        *bool    `yaml:"silent" doc:"It sends nothing for long while it thinks, so silence is no sign of a hang."`
}
