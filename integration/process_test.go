package integration_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for what should come at once.
const patience = 30 * time.Second

// process is a child process. It is killed and reaped with its test at the latest.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr output
	done           chan struct{} // closed when it has ended
	err            error         // of Wait, once done
}

// run starts a program whose environment is that of the test, without variables of any provider, and env.
func run(t *testing.T, env []string, program string, args ...string) *process {
	t.Helper()
	return start(t, exec.CommandContext(t.Context(), program, args...), env)
}

func start(t *testing.T, cmd *exec.Cmd, env []string) *process {
	t.Helper()
	p := &process{cmd: cmd, done: make(chan struct{})}
	cmd.Env = append(neutral(), env...)
	cmd.Stdout, cmd.Stderr = &p.stdout, &p.stderr
	cmd.WaitDelay = patience // then Wait reports that somebody still holds the pipes: an orphan
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-p.done
	})
	return p
}

// neutral is the environment without variables that name a provider or a limit.
func neutral() []string {
	return slices.DeleteFunc(os.Environ(), func(e string) bool {
		for _, prefix := range []string{"AZURE_", "OPENAI_", "AWS_", "GOOGLE_", "GEMINI_", "LLM_", "CIRCUIT_", "PUNCTUAL_"} {
			if strings.HasPrefix(e, prefix) {
				return true
			}
		}
		return false
	})
}

// status waits until the process and all that hold its output have ended, and returns its exit status.
func (p *process) status(t *testing.T) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case <-p.done:
	case <-ctx.Done():
		t.Fatalf("it has not ended after %s\n%s", patience, p.said())
	}
	if errors.Is(p.err, exec.ErrWaitDelay) {
		t.Fatalf("it has ended, but not a child of its own\n%s", p.said())
	}
	return p.cmd.ProcessState.ExitCode()
}

// ends asserts the exit status.
func (p *process) ends(t *testing.T, want int) {
	t.Helper()
	if got := p.status(t); got != want {
		t.Fatalf("exit status %d, want %d\n%s", got, want, p.said())
	}
}

// awaits waits for a line of standard output and returns what its group matched.
func (p *process) awaits(t *testing.T, line *regexp.Regexp) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		text, changed := p.stdout.read()
		if m := line.FindStringSubmatch(text); m != nil {
			return m[len(m)-1]
		}
		select {
		case <-changed:
		case <-p.done:
			if text, _ := p.stdout.read(); !line.MatchString(text) {
				t.Fatalf("it ended (%v) without printing %s\n%s", p.err, line, p.said())
			}
		case <-ctx.Done():
			t.Fatalf("it has not printed %s after %s\n%s", line, patience, p.said())
		}
	}
}

func (p *process) said() string {
	return "stdout:\n" + p.stdout.String() + "stderr:\n" + p.stderr.String()
}

// signal sends a signal to the process alone.
func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// output is what a process has written. It is safe for concurrent use.
type output struct {
	mu      sync.Mutex
	text    []byte
	changed chan struct{} // closed and replaced at each write
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, p...)
	if o.changed != nil {
		close(o.changed)
		o.changed = nil
	}
	return len(p), nil
}

// read returns the text so far and a channel that is closed when there is more.
func (o *output) read() (text string, changed <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.changed == nil {
		o.changed = make(chan struct{})
	}
	return string(o.text), o.changed
}

func (o *output) String() string {
	text, _ := o.read()
	return text
}

// sim is a running `punctual sim` without a command.
type sim struct {
	*process
	url  string
	vars map[string]string // that it printed
}

var (
	simURL      = regexp.MustCompile(`(?m)^three simulated clouds at (http://\S+); stop them with Ctrl-C$`)
	simVariable = regexp.MustCompile(`(?m)^export (\w+)=(\S+)$`)
	simLast     = regexp.MustCompile(`(?m)^unset GEMINI_API_KEY$`)
)

func startSim(t *testing.T, args ...string) *sim {
	t.Helper()
	s := &sim{process: run(t, nil, punctual(t), append([]string{"sim"}, args...)...), vars: map[string]string{}}
	s.url = s.awaits(t, simURL)
	s.awaits(t, simLast)
	for _, m := range simVariable.FindAllStringSubmatch(s.stdout.String(), -1) {
		s.vars[m[1]] = m[2]
	}
	return s
}

// environment is what sim printed, for a child that is to find it.
func (s *sim) environment() []string {
	env := []string{"PUNCTUAL_SIM=" + s.url}
	for name, value := range s.vars {
		env = append(env, name+"="+value)
	}
	return env
}

// endpoint is the path of chat completions.
func (s *sim) endpoint() string {
	return s.url + "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"
}

// stop ends sim as a user does, so that its log is whole.
func (s *sim) stop(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" { // which has no signal for another process
		_ = s.cmd.Process.Kill()
		s.status(t)
		return
	}
	s.signal(t, syscall.SIGTERM)
	s.ends(t, 0)
}

// logLine is a line of sim's log: method, path, and status.
var logLine = regexp.MustCompile(`(?m)^sim: (\S+) (\S+): request \d+ at [^;]+; (nothing sent|\d+)(?:, a stream)?; .*$`)

// log is what sim has logged, as "METHOD PATH STATUS", sorted; status 0 stands for nothing sent.
func (s *sim) log(t *testing.T) []string {
	t.Helper()
	var lines []string
	for line := range strings.Lines(s.stderr.String()) {
		m := logLine.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("sim wrote a line of another form: %q", line)
		}
		lines = append(lines, m[1]+" "+m[2]+" "+strings.Replace(m[3], "nothing sent", "0", 1))
	}
	slices.Sort(lines)
	return lines
}
