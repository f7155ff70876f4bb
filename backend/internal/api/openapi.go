package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3gen"

	"rockpool/backend/internal/access"
	"rockpool/backend/internal/rest"
)

// queryParams describe every parameter that a row of the table may name.
var queryParams = map[string]string{
	"follow":    "true: stream the log as text, from its beginning until the attempt's end; it waits for one that has not begun.",
	"wait":      `How long to wait for the job's end, such as "30s"; at most one minute.`,
	"app":       "Only what is of this app.",
	"reason":    "Only jobs with this reason; only audit entries with this in theirs; of a deletion, why, for its audit entry.",
	"action":    "Only audit entries with this in their action.",
	"object":    "Only audit entries with this in their object, such as node:ams-edge-01.",
	"actor":     "Only audit entries with this in their actor, such as u:1.",
	"text":      "Only audit entries with this anywhere.",
	"label":     "Only jobs with this label: name=value.",
	"key":       "Only placements with this key.",
	"state":     "Only jobs or placements in this state; of alarms, those that are lasting or resolved.",
	"node":      "Only jobs whose newest attempt is on this node; only placements on it.",
	"pool":      "Only what is in this pool.",
	"since":     "A day (2026-11-29), a time, or how long ago: 12h, 30d.",
	"until":     "Like since; absent: now.",
	"kind":      "Only alarms of this kind.",
	"dryRun":    "true: say what it would do, and do nothing.",
	"role":      "Of the work that is asked about; absent: worker.",
	"runner":    "Of the work that is asked about; absent: whichever.",
	"slots":     "That the work asks for; absent: 1.",
	"backend":   "That the work asks for; absent: the node's own.",
	"region":    "That the work requires; absent: any.",
	"lease":     "Only nodes with this lease.",
	"pageSize":  "Items of one page, at most 200.",
	"pageToken": "The nextPageToken of the page before.",
	"job":       "The job of which a node uploads an output.",
	"attempt":   "The attempt that the node holds.",
	"digest":    "What the body's digest must be: sha256: and 64 lower-case hex digits.",
}

// OpenAPI makes the API's description (OpenAPI 3.0) from the table.
func OpenAPI(version string) (*openapi3.T, error) {
	doc := &openapi3.T{
		OpenAPI: "3.0.3",
		Info:    &openapi3.Info{Title: "Rockpool", Version: version},
		Paths:   openapi3.NewPaths(),
		Components: &openapi3.Components{
			// Times write themselves: the generator leaves their schema to us.
			Schemas: openapi3.Schemas{timeType.Name(): openapi3.NewDateTimeSchema().NewRef()},
			SecuritySchemes: openapi3.SecuritySchemes{
				"token": &openapi3.SecuritySchemeRef{Value: &openapi3.SecurityScheme{
					Type: "http", Scheme: "bearer", Description: "An API token, rp_…; for an artifact also a node's secret.",
				}},
				"session": &openapi3.SecuritySchemeRef{Value: &openapi3.SecurityScheme{
					Type: "apiKey", In: "cookie", Name: access.CookieName, Description: "A console session, for browsers: POST /v1/session.",
				}},
			},
		},
	}
	policy, err := access.NewPolicy(nil)
	if err != nil {
		return nil, err
	}
	g := &documentWriter{doc: doc, policy: policy, schemas: openapi3gen.NewGenerator(
		openapi3gen.CreateComponentSchemas(openapi3gen.ExportComponentSchemasOptions{ExportComponentSchemas: true, ExportTopLevelSchema: true, ExportGenerics: true}),
		openapi3gen.CreateTypeNameGenerator(schemaName),
		openapi3gen.SchemaCustomizer(customize),
	)}
	for i := range table {
		if err := g.add(&table[i]); err != nil {
			return nil, fmt.Errorf("describe %s %s: %w", table[i].Method, table[i].Path, err)
		}
	}
	return doc, nil
}

type documentWriter struct {
	doc     *openapi3.T
	policy  *access.Policy
	schemas *openapi3gen.Generator
}

var pathParam = regexp.MustCompile(`:([a-z]+)`)

func (g *documentWriter) add(r *Route) error {
	op := &openapi3.Operation{
		Summary: r.Summary, OperationID: operationID(r), Tags: []string{r.Object}, Parameters: g.parameters(r),
		Security: openapi3.NewSecurityRequirements().With(openapi3.NewSecurityRequirement().Authenticate("token")).
			With(openapi3.NewSecurityRequirement().Authenticate("session")),
	}
	if g.open(r) {
		op.Security = openapi3.NewSecurityRequirements()
	}
	if err := g.request(op, r); err != nil {
		return err
	}
	if err := g.responses(op, r); err != nil {
		return err
	}
	path := pathParam.ReplaceAllString(r.Path, "{$1}")
	item := g.doc.Paths.Value(path)
	if item == nil {
		item = &openapi3.PathItem{}
		g.doc.Paths.Set(path, item)
	}
	item.SetOperation(r.Method, op)
	return nil
}

// operationID is stable and unique: the method and the path's words.
func operationID(r *Route) string {
	words := strings.FieldsFunc(r.Path, func(c rune) bool { return c == '/' || c == ':' || c == '.' })
	return strings.ToLower(r.Method) + "_" + strings.Join(words, "_")
}

func (g *documentWriter) parameters(r *Route) openapi3.Parameters {
	var list openapi3.Parameters
	for _, match := range pathParam.FindAllStringSubmatch(r.Path, -1) {
		list = append(list, &openapi3.ParameterRef{Value: openapi3.NewPathParameter(match[1]).WithSchema(openapi3.NewStringSchema())})
	}
	for _, name := range r.Query {
		schema := openapi3.NewStringSchema()
		if name == "pageSize" {
			schema = openapi3.NewIntegerSchema().WithMin(1)
		}
		list = append(list, &openapi3.ParameterRef{Value: openapi3.NewQueryParameter(name).WithSchema(schema).WithDescription(queryParams[name])})
	}
	return append(list, g.headers(r)...)
}

func (g *documentWriter) headers(r *Route) (list openapi3.Parameters) {
	header := func(name, description string) {
		p := openapi3.NewHeaderParameter(name).WithSchema(openapi3.NewStringSchema()).WithDescription(description)
		list = append(list, &openapi3.ParameterRef{Value: p})
	}
	if r.Method == http.MethodPost && !r.Streams && !g.open(r) {
		header(rest.HeaderIdempotencyKey, "The same key with the same body is answered as the first one was and does nothing more, for 24 hours; secrets are shown once.")
	}
	if slices.Contains(r.Fails, http.StatusPreconditionFailed) {
		header("If-Match", "The ETag that it was read with; another version is refused with 412.")
	}
	if r.Object == "artifact" && r.Action == "upload" {
		header(rest.HeaderContentDigest, "sha-256=:<base64>: (RFC 9530); it must be true.")
	}
	if r.Method == http.MethodPatch {
		header(rest.HeaderUploadOffset, "Where the body begins, in bytes: as much as is there.")
		header(rest.HeaderUploadLength, "Bytes of the whole file.")
	}
	return list
}

// open reports a route that needs no credential.
func (g *documentWriter) open(r *Route) bool {
	return r.Delegated || !g.policy.Decide(access.Everybody(), r.Object, r.Action).None()
}

func (g *documentWriter) request(op *openapi3.Operation, r *Route) error {
	if r.Object == "artifact" && (r.Action == "upload" || r.Method == http.MethodPatch) {
		body := openapi3.NewRequestBody().WithRequired(true).
			WithContent(openapi3.NewContentWithSchema(openapi3.NewBytesSchema().WithFormat("binary"), []string{"application/octet-stream"}))
		op.RequestBody = &openapi3.RequestBodyRef{Value: body}
		return nil
	}
	if r.takes == nil {
		return nil
	}
	schema, err := g.schema(r.takes)
	if err != nil {
		return err
	}
	body := openapi3.NewRequestBody().WithRequired(!r.optional).WithJSONSchemaRef(schema)
	op.RequestBody = &openapi3.RequestBodyRef{Value: body}
	return nil
}

func (g *documentWriter) responses(op *openapi3.Operation, r *Route) error {
	op.Responses = openapi3.NewResponsesWithCapacity(8)
	for _, status := range r.Status {
		response := openapi3.NewResponse().WithDescription(http.StatusText(status))
		switch {
		case r.Media == "application/json":
			response.WithContent(openapi3.NewContentWithSchema(openapi3.NewObjectSchema(), []string{r.Media}))
		case r.Media != "" && status < 300:
			content := openapi3.NewContentWithSchema(openapi3.NewStringSchema().WithFormat("binary"), []string{r.Media})
			if r.Answers != nil { // a document, unless the query asks for the other
				schema, err := g.schema(reflect.TypeOf(r.Answers))
				if err != nil {
					return err
				}
				content["application/json"] = openapi3.NewMediaType().WithSchemaRef(schema)
			}
			response.WithContent(content)
		case r.Answers != nil:
			schema, err := g.answer(r, status)
			if err != nil {
				return err
			}
			response.WithJSONSchemaRef(schema)
		}
		op.Responses.Set(strconv.Itoa(status), &openapi3.ResponseRef{Value: response})
	}
	problem, err := g.schema(reflect.TypeFor[rest.Problem]())
	if err != nil {
		return err
	}
	for _, status := range failures(r) {
		response := openapi3.NewResponse().WithDescription(http.StatusText(status))
		if !r.Delegated {
			response.WithContent(openapi3.NewContentWithSchemaRef(problem, []string{rest.ProblemType}))
		}
		op.Responses.Set(strconv.Itoa(status), &openapi3.ResponseRef{Value: response})
	}
	return nil
}

// answer is the schema of a success: of 200 also that of a dry run.
func (g *documentWriter) answer(r *Route, status int) (*openapi3.SchemaRef, error) {
	usual, err := g.schema(reflect.TypeOf(r.Answers))
	if err != nil || r.DryRun == nil || status != http.StatusOK {
		return usual, err
	}
	dry, err := g.schema(reflect.TypeOf(r.DryRun))
	if err != nil {
		return nil, err
	}
	return (&openapi3.Schema{OneOf: openapi3.SchemaRefs{usual, dry}}).NewRef(), nil
}

// failures are a row's own and those that every route of its kind can answer.
func failures(r *Route) []int {
	if r.Delegated {
		return append([]int{401, 403, 503}, r.Fails...)
	}
	list := append([]int{400, 500}, r.Fails...)
	if r.takes != nil {
		list = append(list, 413, 415)
	}
	if r.Method == http.MethodPost && !r.Streams {
		list = append(list, 409, 422) // of an Idempotency-Key
	}
	if r.Object != "health" {
		list = append(list, 401, 403, 429, 503)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// schema gives a reference to a document's schema, and makes it at first.
func (g *documentWriter) schema(t reflect.Type) (*openapi3.SchemaRef, error) {
	return g.schemas.NewSchemaRefForValue(reflect.New(t).Elem().Interface(), g.doc.Components.Schemas)
}

var generic = regexp.MustCompile(`^List\[.*\.(\w+)\]$`)

// schemaName is the type's name; a list's is its items' with List behind.
func schemaName(t reflect.Type) string {
	if match := generic.FindStringSubmatch(t.Name()); match != nil {
		return match[1] + "List"
	}
	return t.Name()
}

var (
	timeType     = reflect.TypeFor[rest.Time]()
	durationType = reflect.TypeFor[rest.Duration]()
	scalarType   = reflect.TypeFor[rest.Scalar]()
	pairType     = reflect.TypeFor[rest.Pair]()
	rawType      = reflect.TypeFor[json.RawMessage]()
)

// customize says what the types that write themselves look like, which keys are
// always there, and that nothing else is taken.
func customize(name string, t reflect.Type, _ reflect.StructTag, schema *openapi3.Schema) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	nullable := schema.Nullable
	switch t {
	case timeType:
		*schema = *openapi3.NewDateTimeSchema()
	case durationType:
		*schema = openapi3.Schema{Type: &openapi3.Types{"string"}, Example: "10m", Nullable: nullable}
	case scalarType:
		*schema = openapi3.Schema{OneOf: openapi3.SchemaRefs{
			openapi3.NewStringSchema().NewRef(), openapi3.NewFloat64Schema().NewRef(), openapi3.NewBoolSchema().NewRef(),
		}}
	case pairType:
		*schema = *openapi3.NewArraySchema().WithItems(openapi3.NewStringSchema()).WithMinItems(2).WithMaxItems(2)
	case rawType:
		*schema = openapi3.Schema{Nullable: true}
	default:
		if t.Kind() == reflect.Struct {
			closeObject(t, schema)
		}
	}
	return nil
}

// closeObject marks the keys without omitempty as required, takes no others, and lets
// times that may be absent be null.
func closeObject(t reflect.Type, schema *openapi3.Schema) {
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && name != "-" && !strings.Contains(options, "omitempty") {
			schema.Required = append(schema.Required, name)
		}
		if field.Type == reflect.PointerTo(timeType) && schema.Properties[name] != nil { // a reference can't say that it may be null
			schema.Properties[name] = openapi3.NewDateTimeSchema().WithNullable().NewRef()
		}
	}
	schema.AdditionalProperties = openapi3.AdditionalProperties{Has: openapi3.Ptr(false)}
}
