package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/punctual-llm/punctual"
	"github.com/punctual-llm/punctual/config"
)

// reloader reads the configuration of a caller again, between calls. One that is wrong changes nothing.
type reloader struct {
	app  *app
	by   *caller
	path string                     // "": the environment alone
	fits func(*config.Config) error // whether the flags of the command fit a configuration
	seen []os.FileInfo              // its files, as they were when they were read last
}

func (a *app) reloader(by *caller, c *cli.Command) *reloader {
	r := &reloader{app: a, by: by, path: a.configPath(c.String("c")), seen: filesNow(by.conf)}
	r.fits = func(conf *config.Config) error {
		if _, err := operation(c.String("o"), operationNames(conf)); err != nil {
			return err
		}
		_, err := only(c.String("only"), targetNames(conf))
		return err
	}
	return r
}

// filesNow are the files of a configuration as they are. What is not there, or can be read once only, is nil.
func filesNow(conf *config.Config) []os.FileInfo {
	var now []os.FileInfo
	for _, file := range conf.Files() {
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() {
			info = nil
		}
		now = append(now, info)
	}
	return now
}

// changed reports whether a file is another than when it was read last.
func (r *reloader) changed() bool { return !slices.EqualFunc(filesNow(r.by.conf), r.seen, same) }

func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
}

// reloadChanged reloads if a file changed.
func (r *reloader) reloadChanged(ctx context.Context) {
	if r.changed() {
		r.reload(ctx)
	}
}

// reload reads the configuration and lets it take over, and says so, or why not.
func (r *reloader) reload(ctx context.Context) {
	if r.by.conf == nil {
		return // the simulated cloud has none
	}
	r.seen = filesNow(r.by.conf) // what changes from here on is seen next time
	conf, err := r.load(ctx)
	switch {
	case ctx.Err() != nil: // who interrupted asks no more
		return
	case err != nil:
		r.tell(err)
		return
	}
	r.by.conf, r.by.names = conf, targetNames(conf)
	r.by.client = r.by.opened.Client
	fmt.Fprintf(r.app.stderr, "%s read again: %s\n", r.name(), count(len(conf.Targets), "target"))
	r.app.warnOf(conf)
}

// load opens the configuration as it is now. It takes over what is known of the targets that stay: their breakers,
// cool-downs and retry tokens.
func (r *reloader) load(ctx context.Context) (*config.Config, error) {
	if info, err := os.Stat(r.path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil, errors.New("it is a pipe, which can be read once only")
	}
	conf, err := unlessInterrupted(ctx, func() (*config.Config, error) { return config.Load(r.path) })
	if err != nil {
		return nil, err
	}
	if err := r.fits(conf); err != nil {
		return nil, err
	}
	chain, err := conf.Build(ctx, punctual.Providers(), r.by.opened.chain)
	if err != nil {
		return nil, err
	}
	r.by.opened.use(chain)
	return conf, nil
}

func (r *reloader) name() string {
	if r.path == "" {
		return "the environment"
	}
	return r.path
}

// tell says why the old configuration stays.
func (r *reloader) tell(err error) {
	const stays = "the plans from before stay"
	e, ok := errors.AsType[*config.Error](err)
	if ok {
		fmt.Fprintf(r.app.stderr, "%spunctual: %s has %s; %s\n", e.Detail(), r.name(), count(len(e.Problems)+e.More, "error"), stays)
		return
	}
	fmt.Fprintf(r.app.stderr, "punctual: %s: %s: %s\n", r.name(), stays, strings.TrimPrefix(err.Error(), "llm: invalid: "))
}
