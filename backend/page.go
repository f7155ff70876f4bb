package backend

import (
	"net/http"

	"rockpool/backend/internal/page"
	"rockpool/web"
)

// newFront puts the console's pages beside the API.
func (o *owner) newFront() (http.Handler, error) {
	api, err := o.newAPI()
	if err != nil {
		return nil, err
	}
	pages, err := page.New(web.Files())
	if err != nil {
		return nil, err
	}
	return pages.Beside(api), nil
}
