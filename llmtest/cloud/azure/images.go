package azure

import (
	"encoding/base64"
	"slices"
	"strings"
)

// checkImage: the text for a URL without scheme is reported with this ending; the other endings follow its
// pattern. Images behind http and https are not fetched.
func checkImage(part object, path string) *refusal {
	if no := want(part, "image_url", path, "object"); no != nil {
		return no
	}
	image, _ := part.object("image_url")
	if !image.has("url") {
		return missing(path + ".url")
	}
	if no := want(image, "url", path+".url", "string"); no != nil {
		return no
	}
	if detail, ok := image.text("detail"); ok {
		if no := oneOf(path+".detail", detail, "low", "high", "auto"); no != nil {
			return no
		}
	}
	url, _ := image.text("url")
	return checkImageURL(url, path+".url")
}

func checkImageURL(url, path string) *refusal {
	if strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://") {
		return nil
	}
	bad := func(problem string) *refusal {
		return invalid(path, "invalid_value", "Invalid image URL: '%s'. Expected a base64-encoded data URL with an image "+
			"MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got %s.", path, problem)
	}
	rest, ok := strings.CutPrefix(url, "data:")
	if !ok {
		return bad("a value without the 'data:' prefix")
	}
	media, data, ok := strings.Cut(rest, ";base64,")
	switch {
	case !ok:
		return bad("a value without the ';base64,' part")
	case !strings.HasPrefix(media, "image/"):
		return bad("unsupported MIME type '" + media + "'")
	case data == "":
		return bad("empty base64-encoded bytes")
	}
	if _, err := base64.StdEncoding.DecodeString(data); err != nil {
		return invalid("", "invalid_base64", "Invalid base64 image_url.")
	}
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp"}, media) {
		return invalid("", "invalid_image_format", "You uploaded an unsupported image. Please make sure your image has of "+
			"one the following formats: ['png', 'jpeg', 'gif', 'webp'].")
	}
	return nil
}
