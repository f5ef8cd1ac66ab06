/** The templates of Modelfiles in the real text/template of Go, which Ollama uses. Needs go; elsewhere it says that it was left out. */
import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { temporary } from '../support/models.js'
import { conversations, ollamaCall, templates } from '../support/ollama.js'

const program = `package main

import (
	"encoding/json"
	"os"
	"strings"
	"text/template"
)

type Message struct{ Role, Content string }
type Data struct {
	System   string
	Messages []*Message
}
type Case struct {
	Template string
	Data     Data
}

func main() {
	var cases []Case
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		panic(err)
	}
	shown := []string{}
	for _, one := range cases {
		var out strings.Builder
		parsed := template.Must(template.New("").Option("missingkey=zero").Parse(one.Template))
		if err := parsed.Execute(&out, map[string]any{"System": one.Data.System, "Messages": one.Data.Messages, "Response": ""}); err != nil {
			panic(err)
		}
		shown = append(shown, out.String())
	}
	json.NewEncoder(os.Stdout).Encode(shown)
}
`

const go = spawnSync('go', ['version'], { encoding: 'utf8' })
const isHere = go.status === 0
if (!isHere) console.log('There is no go: the templates of Modelfiles were not compared with text/template.')

test.skipIf(!isHere)(
  'Go renders every template as the Jinja template does',
  async () => {
    const names = Object.keys(templates) as (keyof typeof templates)[]
    const all = (await Promise.all(names.map(conversations))).flat()
    const file = `${temporary('modelfile')}.go`
    writeFileSync(file, program)
    const input = JSON.stringify(all.map(({ text, messages }) => ollamaCall(text, messages)))
    const shown: unknown = JSON.parse(execFileSync('go', ['run', file], { input, encoding: 'utf8' }))
    expect(shown).toEqual(all.map(({ wanted }) => wanted))
  },
  120_000,
)
