package integration_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// terminal opens a terminal: what is written to keyboard is typed there.
func terminal(t *testing.T) (keyboard, tty *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this system has no terminals: %v", err)
	}
	t.Cleanup(func() { _ = keyboard.Close() })
	var number, unlock int32
	for request, argument := range map[uintptr]*int32{syscall.TIOCSPTLCK: &unlock, syscall.TIOCGPTN: &number} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, keyboard.Fd(), request, uintptr(unsafe.Pointer(argument))); errno != 0 {
			t.Fatal(errno)
		}
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this system has no terminals: %v", err)
	}
	t.Cleanup(func() { _ = tty.Close() })
	return keyboard, tty
}

// TestCtrlCReachesTheCommandOfSimOnce: a terminal sends the interrupt to both, so sim does not send it again.
func TestCtrlCReachesTheCommandOfSimOnce(t *testing.T) {
	t.Parallel()
	keyboard, tty := terminal(t)
	cmd := exec.CommandContext(t.Context(), punctual(t), "sim", "--", self(t))
	cmd.Stdin = tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true} // the terminal is descriptor 0
	p := start(t, cmd, []string{childVariable + "=count"})
	p.awaits(t, regexp.MustCompile(`(?m)^ready$`))
	if _, err := keyboard.Write([]byte{3}); err != nil { // Ctrl-C
		t.Fatal(err)
	}
	p.awaits(t, regexp.MustCompile(`(?m)^told: interrupt$`))
	p.signal(t, syscall.SIGTERM) // what sim passes on, it passes on in order
	p.ends(t, waitStatus)
	if want := "ready\ntold: interrupt\ntold: terminated\n"; p.stdout.String() != want {
		t.Errorf("the command was told\n%s\nwant\n%s", p.stdout.String(), want)
	}
	if strings.Contains(p.stderr.String(), "punctual") {
		t.Errorf("sim says %q", p.stderr.String())
	}
}
