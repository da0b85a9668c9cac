package azure

import (
	"slices"
	"strings"
)

// versionOf is the dated name by which the service answers for a model.
func versionOf(model string) string {
	dates := map[string]string{
		"gpt-4o": "2024-11-20", "gpt-4o-mini": "2024-07-18",
		"gpt-4.1": "2025-04-14", "gpt-4.1-mini": "2025-04-14", "gpt-4.1-nano": "2025-04-14",
		"o1": "2024-12-17", "o3": "2025-04-16", "o3-mini": "2025-01-31", "o4-mini": "2025-04-16",
		"gpt-5": "2025-08-07", "gpt-5-mini": "2025-08-07", "gpt-5-nano": "2025-08-07",
		"gpt-5.1": "2025-11-13", "gpt-5.2": "2025-12-11",
	}
	if date, ok := dates[model]; ok {
		return model + "-" + date
	}
	if model == "" {
		return "gpt-4o-2024-11-20"
	}
	return model
}

// oSeries reports whether model is one of o1, o3, o4-mini and so on.
func oSeries(model string) bool {
	return len(model) > 1 && model[0] == 'o' && model[1] >= '1' && model[1] <= '9'
}

// reasons reports whether model is one that thinks first, and takes no sampling parameters.
func reasons(model string) bool {
	return oSeries(model) || strings.HasPrefix(model, "gpt-5") && !strings.Contains(model, "-chat")
}

// efforts are the values of reasoning_effort that model knows.
func efforts(model string) []string {
	switch {
	case oSeries(model):
		return []string{"low", "medium", "high"}
	case strings.HasPrefix(model, "gpt-5."):
		return []string{"none", "low", "medium", "high"}
	default:
		return []string{"minimal", "low", "medium", "high"}
	}
}

// window and longest are how many tokens model takes in all and writes at most.
func window(model string) int {
	switch {
	case strings.HasPrefix(model, "gpt-4.1"):
		return 1047576
	case oSeries(model):
		return 200000
	case reasons(model):
		return 400000
	case slices.Contains([]string{"gpt-35-turbo", "gpt-3.5-turbo"}, model):
		return 16385
	default:
		return 128000
	}
}

func longest(model string) int {
	switch {
	case strings.HasPrefix(model, "gpt-4.1"):
		return 32768
	case oSeries(model):
		return 100000
	case reasons(model):
		return 128000
	case slices.Contains([]string{"gpt-35-turbo", "gpt-3.5-turbo"}, model):
		return 4096
	default:
		return 16384
	}
}
