package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v3"

	"github.com/punctual-llm/punctual/llm"
)

// maxPrompt bounds what is read from standard input, and maxFile what is read of a file.
const (
	maxPrompt = 16 << 20
	maxFile   = 48 << 20 // what every adapter carries once it is base64
)

// request builds the request of the command line, without the prompt, over the operations and targets that there are.
func (a *app) request(ctx context.Context, c *cli.Command, operations, targets []string) (*llm.Request, error) {
	req := &llm.Request{System: c.String("system"), MaxTokens: c.Int("max-tokens"), Session: c.String("session")}
	var err error
	switch {
	case c.IsSet("deadline") && c.Duration("deadline") <= 0:
		return nil, usagef("-deadline: want a time above 0, such as 20s")
	case c.IsSet("max-tokens") && c.Int("max-tokens") <= 0:
		return nil, usagef("-max-tokens: want a number above 0")
	case c.Bool("demo") && c.IsSet("c"):
		return nil, usagef("-demo asks a simulated cloud and reads no file: leave out -c, or -demo")
	case !utf8.ValidString(req.System) || !utf8.ValidString(req.Session):
		return nil, usagef("-system or -session is no UTF-8 text\nnext: convert it first, for example with iconv")
	case c.Bool("json") && c.Bool("stream"):
		return nil, usagef("-json prints one whole object: leave -stream out")
	case c.Bool("lines") && c.Args().Len() > 0 && c.Args().First() != "-":
		return nil, usagef("-lines reads every prompt from standard input: leave the one behind the flags out")
	case c.Args().Len() > 1:
		return nil, usagef("there are %d prompts; put one prompt in quotes, flags in front of it", c.Args().Len())
	}
	if req.Operation, err = operation(c.String("o"), operations); err != nil {
		return nil, err
	}
	if req.Route.Only, err = only(c.String("only"), targets); err != nil {
		return nil, err
	}
	if req.Output, err = readSchema(ctx, c.String("schema")); err != nil {
		return nil, err
	}
	parts, err := readParts(ctx, c.StringSlice("file"))
	if err != nil {
		return nil, err
	}
	req.Messages = []llm.Message{{Role: llm.RoleUser, Parts: parts}}
	return req, nil
}

// operation checks the name of an operation: unlike the library, which runs an unknown one on the default
// plan, the command takes it for a slip of the finger.
func operation(name string, known []string) (llm.Operation, error) {
	if name == "" || name == "default" {
		return "", nil
	}
	if !slices.Contains(known, name) {
		return "", usagef("-o: there is no operation %q%s\nnext: use %s", name, didYouMean(name, known), strings.Join(known, ", "))
	}
	return llm.Operation(name), nil
}

// only reads the names of the targets to ask, "" for all.
func only(list string, known []string) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(known, name) {
			return nil, usagef("-only: no target is named %q%s\nnext: use %s", name, didYouMean(name, known), strings.Join(known, ", "))
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// readSchema reads the JSON schema that an answer has to keep, "" for none.
func readSchema(ctx context.Context, file string) (*llm.Schema, error) {
	if file == "" {
		return nil, nil
	}
	data, err := readFile(ctx, "-schema", file)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if json.Unmarshal(data, &object) != nil || object == nil {
		return nil, configf("-schema %s: is no JSON schema: it is not a JSON object\nnext: {\"type\": \"object\", \"properties\": {…}, \"required\": […]}", file)
	}
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	return &llm.Schema{Name: schemaName(name), JSON: data}, nil
}

// schemaName is a name as every vendor takes it.
func schemaName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	if name == "" {
		return "answer"
	}
	return name[:min(len(name), 64)]
}

// readParts reads files as parts in front of the prompt: text as text, all else by its media type.
func readParts(ctx context.Context, files []string) (llm.Parts, error) {
	var parts llm.Parts
	for _, file := range files {
		data, err := readFile(ctx, "-file", file)
		if err != nil {
			return nil, err
		}
		name := filepath.Base(file)
		switch mediaType := mediaTypeOf(name, data); {
		case len(data) == 0:
			return nil, usagef("-file %s: the file is empty", file)
		case mediaType == "" && utf8.Valid(data):
			parts = append(parts, llm.Text{Text: "File " + name + ":\n" + string(data)})
		case mediaType == "":
			return nil, usagef("-file %s: what it holds is not known\nnext: give text, a picture, a PDF, sound or video, with its usual ending", file)
		default:
			parts = append(parts, llm.Media{MediaType: mediaType, Name: name, Data: data})
		}
	}
	return parts, nil
}

// mediaTypes are those of endings, the same on every machine.
var mediaTypes = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".pdf": "application/pdf", ".mp3": "audio/mpeg", ".wav": "audio/wav", ".flac": "audio/flac", ".ogg": "audio/ogg",
	".mp4": "video/mp4", ".mov": "video/quicktime", ".webm": "video/webm", ".mkv": "video/x-matroska",
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

// mediaTypeOf is the media type of a file that is no text, "" for text and for what nobody knows.
func mediaTypeOf(name string, data []byte) string {
	if t, ok := mediaTypes[strings.ToLower(filepath.Ext(name))]; ok {
		return t
	}
	t, _, _ := strings.Cut(http.DetectContentType(data), ";")
	if strings.HasPrefix(t, "text/") || t == "application/octet-stream" {
		return ""
	}
	return t
}

func readFile(ctx context.Context, flag, file string) ([]byte, error) {
	data, err := unlessInterrupted(ctx, func() ([]byte, error) {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return io.ReadAll(io.LimitReader(f, maxFile+1))
	})
	switch s, interrupted := errors.AsType[*statusError](err); {
	case interrupted:
		return nil, s
	case err != nil:
		return nil, configf("%s %s: %s", flag, file, systemWords(err))
	case len(data) > maxFile:
		return nil, usagef("%s %s: is longer than %d MB", flag, file, maxFile>>20)
	}
	return data, nil
}

func (a *app) prompt(ctx context.Context, arg string) (string, error) {
	if arg == "" || arg == "-" {
		data, err := unlessInterrupted(ctx, func() ([]byte, error) {
			return io.ReadAll(io.LimitReader(a.stdin, maxPrompt+1))
		})
		switch s, interrupted := errors.AsType[*statusError](err); {
		case interrupted:
			return "", s
		case err != nil:
			return "", readingError(err)
		case len(data) > maxPrompt:
			return "", usagef("the prompt on standard input is longer than %d MB", maxPrompt>>20)
		}
		arg = string(data)
	}
	if problem, next := promptProblem(arg); problem != "" {
		return "", usagef("the prompt %s\nnext: %s", problem, next)
	}
	return arg, nil
}

func readingError(err error) error {
	return fmt.Errorf("reading the prompt from standard input: %w", err)
}

// promptEmpty is the problem of a prompt without a word.
const promptEmpty = "is empty"

// promptProblem is what is wrong with a prompt and what to do about it, "" if it can be sent.
func promptProblem(text string) (problem, next string) {
	switch {
	case strings.TrimSpace(text) == "":
		return promptEmpty, `punctual generate "…", or give it on standard input`
	case !utf8.ValidString(text):
		return "is no UTF-8 text", "convert it first, for example with iconv"
	default:
		return "", ""
	}
}
