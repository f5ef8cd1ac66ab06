/** The part of Go's text/template that the Modelfile of an export uses: `if`, `range`, variables, `eq`, `not`, `len` and `slice`. */

type Value = string | number | boolean | readonly Value[] | { readonly [field: string]: Value }
type Scope = { dot: Value; root: Value; variables: Map<string, Value> }
type Node =
  | { kind: 'text'; text: string }
  | { kind: 'show'; words: Word[] }
  | { kind: 'set'; name: string; words: Word[] }
  | { kind: 'if'; branches: { words: Word[] | undefined; body: Node[] }[] }
  | { kind: 'range'; names: string[]; words: Word[]; body: Node[] }
type Word = string | Word[]

/** A template with data, as Go renders it. What is not known here throws. */
export function renderGo(template: string, data: Value): string {
  const pieces = template.split(/\{\{\s*(.*?)\s*\}\}/s)
  const { nodes, rest } = parse(pieces)
  if (rest.length > 0) throw new Error('an {{ end }} too many')
  return render(nodes, { dot: data, root: data, variables: new Map() })
}

/** Texts and actions take turns. Stops behind the action that closes the block. */
function parse(pieces: readonly string[]): { nodes: Node[]; closing: string; rest: readonly string[] } {
  const nodes: Node[] = []
  let rest = pieces
  for (;;) {
    const [text, action, ...others] = rest
    nodes.push({ kind: 'text', text: text ?? '' })
    if (action === undefined) return { nodes, closing: '', rest: [] }
    rest = others
    if (action === 'end' || /^else\b/.test(action)) return { nodes, closing: action, rest }
    const assigned = /^(\$\w+) := (.*)$/.exec(action)
    const ranged = /^range (\$\w+), (\$\w+) := (.*)$/.exec(action)
    if (ranged) {
      const inner = parse(rest)
      nodes.push({ kind: 'range', names: [ranged[1]!, ranged[2]!], words: wordsOf(ranged[3]!), body: inner.nodes })
      rest = inner.rest
    } else if (action.startsWith('if ')) {
      const branches: { words: Word[] | undefined; body: Node[] }[] = []
      let closing = `else ${action}`
      while (closing !== 'end') {
        if (closing === '') throw new Error('an {{ end }} is missing')
        const inner = parse(rest)
        branches.push({
          words: closing === 'else' ? undefined : wordsOf(closing.slice('else if '.length)),
          body: inner.nodes,
        })
        ;({ closing, rest } = inner)
      }
      nodes.push({ kind: 'if', branches })
    } else if (assigned) nodes.push({ kind: 'set', name: assigned[1]!, words: wordsOf(assigned[2]!) })
    else nodes.push({ kind: 'show', words: wordsOf(action) })
  }
}

/** Words of an expression; what is in parentheses is a list of its own. */
function wordsOf(expression: string): Word[] {
  const stack: Word[][] = [[]]
  for (const [word] of expression.matchAll(/"[^"]*"|[()]|[^\s()]+/g)) {
    if (word === '(') stack.push([])
    else if (word === ')') {
      const inner = stack.pop()!
      stack.at(-1)!.push(inner)
    } else stack.at(-1)!.push(word)
  }
  return stack[0]!
}

function render(nodes: readonly Node[], scope: Scope): string {
  return nodes
    .map(node => {
      if (node.kind === 'text') return node.text
      if (node.kind === 'show') return String(evaluated(node.words, scope))
      if (node.kind === 'set') {
        scope.variables.set(node.name, evaluated(node.words, scope))
        return ''
      }
      if (node.kind === 'if') {
        const chosen = node.branches.find(({ words }) => words === undefined || isTrue(evaluated(words, scope)))
        return chosen ? render(chosen.body, scope) : ''
      }
      const list = evaluated(node.words, scope) as readonly Value[]
      return list
        .map((dot, i) => {
          const variables = new Map([...scope.variables, [node.names[0]!, i as Value], [node.names[1]!, dot]])
          return render(node.body, { ...scope, dot, variables })
        })
        .join('')
    })
    .join('')
}

const isTrue = (value: Value): boolean => (Array.isArray(value) ? value.length > 0 : Boolean(value))

const functions: Readonly<Record<string, (...args: Value[]) => Value>> = {
  eq: (a, b) => a === b,
  not: value => !isTrue(value!),
  len: value => (value as readonly Value[]).length,
  slice: (value, from) => (value as readonly Value[]).slice(from as number),
}

function evaluated(words: readonly Word[], scope: Scope): Value {
  const [first, ...rest] = words.map(word => (Array.isArray(word) ? evaluated(word, scope) : word))
  const head = words[0]
  if (typeof head === 'string' && Object.hasOwn(functions, head))
    return functions[head]!(...words.slice(1).map((word, i) => (Array.isArray(word) ? rest[i]! : atom(word, scope))))
  if (rest.length > 0) throw new Error(`not known here: ${JSON.stringify(words)}`)
  return Array.isArray(head) ? first! : atom(head!, scope)
}

function atom(word: string, { dot, root, variables }: Scope): Value {
  if (word.startsWith('"')) return JSON.parse(word) as string
  if (/^\d+$/.test(word)) return Number(word)
  const [name, ...fields] = word.split('.')
  const start = name === '' ? dot : name === '$' ? root : variables.get(name!)
  if (start === undefined) throw new Error(`not known here: ${word}`)
  return fields.reduce<Value>((value, field) => {
    const found = (value as Readonly<Record<string, Value>>)[field]
    if (found === undefined) throw new Error(`there is no ${field} in ${word}`)
    return found
  }, start)
}
