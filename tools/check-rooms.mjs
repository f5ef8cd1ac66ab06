// Rooms (the folders of src/) import each other through their index.ts alone, and only in the directions below. Every direction is
// used, and no file imports itself by way of others. A room may have a second door, records.ts, for what only reads files of runs: it
// reaches no tensor. `npm run lint` runs this; tests may import what they like.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What each room may import. Lower rooms come first; an arrow that is not here is a decision to make, and to write down here. */
export const arrows = {
  errors: [],
  maths: ['errors'],
  sequence: [],
  progress: [],
  files: ['errors'],
  plot: ['files', 'progress'],
  http: [],
  watchdog: [],
  hub: ['errors', 'files', 'http', 'progress'],
  tensor: ['errors', 'files', 'watchdog'],
  media: ['errors', 'files', 'http', 'sequence', 'tensor'],
  kernels: ['tensor'],
  decoder: ['errors', 'files', 'tensor', 'kernels'],
  model: ['errors', 'files', 'sequence', 'media', 'tensor', 'kernels', 'decoder'],
  text: ['errors', 'files'],
  gguf: ['errors', 'files', 'tensor', 'decoder', 'text'],
  rollout: ['errors', 'files', 'http', 'sequence', 'media', 'tensor', 'kernels', 'decoder', 'model', 'text'],
  distributed: ['errors', 'sequence', 'tensor', 'model', 'text', 'rollout'],
  data: ['errors', 'files', 'sequence', 'media', 'text'],
  source: ['errors', 'hub', 'progress', 'gguf', 'data'],
  reward: ['errors', 'files', 'http', 'sequence', 'watchdog', 'source', 'tensor', 'media', 'model', 'text', 'data'],
  environment: ['errors', 'sequence', 'watchdog', 'text', 'rollout', 'data'],
  serve: ['errors', 'http', 'sequence', 'media', 'model', 'text', 'rollout', 'data', 'environment'],
  experience: ['errors', 'sequence', 'media', 'model', 'text', 'rollout', 'data', 'reward', 'environment', 'maths'],
  run: ['errors', 'files', 'http', 'progress'],
  launch: ['errors', 'http'],
  card: ['files', 'plot', 'run'],
  train: [
    'source',
    'errors',
    'sequence',
    'files',
    'progress',
    'tensor',
    'media',
    'decoder',
    'model',
    'distributed',
    'text',
    'rollout',
    'data',
    'reward',
    'experience',
    'environment',
    'serve',
    'run',
    'launch',
    'maths',
  ],
  evaluate: [
    'errors',
    'distributed',
    'progress',
    'source',
    'sequence',
    'tensor',
    'model',
    'text',
    'rollout',
    'data',
    'reward',
    'experience',
    'environment',
    'train',
    'plot',
  ],
  pipeline: [
    'distributed',
    'source',
    'errors',
    'sequence',
    'files',
    'progress',
    'tensor',
    'model',
    'text',
    'rollout',
    'data',
    'reward',
    'run',
    'train',
    'evaluate',
    'maths',
    'plot',
  ],
  demo: ['sequence', 'files', 'progress', 'model', 'text', 'rollout', 'train', 'plot'],
  api: [
    'card',
    'distributed',
    'hub',
    'source',
    'sequence',
    'errors',
    'files',
    'maths',
    'progress',
    'tensor',
    'media',
    'model',
    'text',
    'gguf',
    'rollout',
    'data',
    'reward',
    'run',
    'train',
    'experience',
    'evaluate',
    'pipeline',
    'serve',
    'environment',
  ],
  dashboard: ['errors', 'files', 'sequence', 'media', 'text', 'data', 'reward', 'run', 'train'],
  setup: ['errors', 'files', 'http', 'progress'],
  cli: [
    'source',
    'distributed',
    'errors',
    'sequence',
    'files',
    'http',
    'progress',
    'tensor',
    'model',
    'text',
    'rollout',
    'serve',
    'data',
    'reward',
    'experience',
    'environment',
    'run',
    'train',
    'evaluate',
    'pipeline',
    'demo',
    'api',
    'setup',
    'launch',
    'maths',
    'plot',
    'card',
    'dashboard',
  ],
}

/** Folders of formulas: what reads files, clocks or networks comes in as an argument. */
export const pure = ['experience', 'maths']

/**
 * Everything that is wrong with a tree of rooms, as `file:line: what, and what to do`.
 *
 * @param {string} source the folder of the rooms
 * @param {Readonly<Record<string, readonly string[]>>} allowed
 * @returns {string[]}
 */
export function checkRooms(source, allowed = arrows) {
  const problems = []
  const used = new Set()
  const graph = {}
  for (const file of readdirSync(source, { recursive: true, encoding: 'utf8' }).sort()) {
    if (!file.endsWith('.ts')) continue
    const [room, ...rest] = file.split(sep)
    const place = join(relative(process.cwd(), source), file)
    // The package itself: it exports what rooms export, and has nothing of its own.
    if (file === 'index.ts') continue
    if (rest.length === 0) {
      problems.push(`${place}: a file outside the rooms; move it into the lowest room that can own it`)
      continue
    }
    if (!(room in allowed)) {
      problems.push(`${place}: there is no room "${room}"; add it and its arrows to tools/check-rooms.mjs`)
      continue
    }
    graph[file] = []
    for (const { specifier, line, isType } of importsOf(readFileSync(join(source, file), 'utf8'))) {
      const problem = importProblem({ source, file, room, specifier, allowed })
      if (problem) problems.push(`${place}:${line}: ${problem}`)
      if (!specifier.startsWith('.')) continue
      const target = relative(source, resolve(source, dirname(file), specifier))
      used.add(`${room} ${target.split(sep)[0]}`)
      if (!isType) graph[file].push(target.replace(/\.js$/, '.ts'))
    }
  }
  for (const [room, others] of Object.entries(allowed))
    for (const other of others)
      if (!used.has(`${room} ${other}`))
        problems.push(`tools/check-rooms.mjs: no import uses the arrow from ${room} to ${other}; remove the arrow`)
  for (const cycle of cyclesOf(allowed)) problems.push(`tools/check-rooms.mjs: a cycle of rooms: ${cycle}`)
  for (const file of Object.keys(graph)) {
    const path = file.endsWith(`${sep}records.ts`) && pathTo(graph, file, 'tensor')
    if (path) problems.push(`${file} is for reading files alone, and computes: ${path.join(' -> ')}`)
  }
  for (const cycle of cyclesOf(graph))
    problems.push(`a cycle of imports: ${cycle}; move what both need to a file below`)
  return problems
}

function importProblem({ source, file, room, specifier, allowed }) {
  if (!specifier.startsWith('.')) {
    const folder = pure.find(one => file.split(sep).join('/').startsWith(`${one}/`))
    if (!folder || !/^(node:|undici|@grpc)/.test(specifier)) return undefined
    return `${folder} does no input or output, so that ${specifier} has no place here; take what it gives as an argument`
  }
  const target = relative(source, resolve(source, dirname(file), specifier)).split(sep)
  const [other] = target
  if (other === room) return undefined
  if (other === '..') return `${specifier} lies outside src/`
  if (!allowed[room].includes(other))
    return `${room} may not import ${other}; move what both need to a room below, or add the arrow to tools/check-rooms.mjs`
  if (target.length !== 2 || (target[1] !== 'index.js' && target[1] !== 'records.js'))
    return `import from '${specifier.slice(0, specifier.indexOf(other) + other.length)}/index.js', and export there what is missing`
  return undefined
}

/** `import ... from 'x'`, `export ... from 'x'`, `import 'x'` and `import('x')`, outside comments. */
function importsOf(text) {
  const code = text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, comment => comment.replace(/[^\n]/g, ' '))
  return [...code.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'([^'\n]+)'/g)].map(({ 1: specifier, index }) => ({
    specifier,
    line: code.slice(0, index).split('\n').length,
    isType: importsTypesOnly(code.slice(0, index)),
  }))
}

/** Whether the statement that ends here, before its `from`, names types alone. */
function importsTypesOnly(code) {
  const statement = /(?:^|\n)(?:import|export)\s+(type\s[^']*|\{[^}']*\}\s*)$/.exec(code)
  if (!statement) return false
  const [, names] = statement
  return names.startsWith('type') || !/[{,]\s*(?!type\s)\w/.test(names)
}

/** The shortest way from a file to a room; undefined where there is none. */
function pathTo(graph, from, room) {
  const paths = [[from]]
  const seen = new Set([from])
  for (const path of paths)
    for (const next of graph[path.at(-1)] ?? []) {
      if (next.startsWith(`${room}${sep}`)) return [...path, next]
      if (seen.has(next)) continue
      seen.add(next)
      paths.push([...path, next])
    }
  return undefined
}

/** Each way that leads back to where it began, as `a -> b -> a`. */
function cyclesOf(graph) {
  const cycles = []
  const done = new Set()
  const visit = (node, path) => {
    if (path.includes(node)) cycles.push([...path.slice(path.indexOf(node)), node].join(' -> '))
    if (path.includes(node) || done.has(node)) return
    for (const other of graph[node] ?? []) visit(other, [...path, node])
    done.add(node)
  }
  for (const node of Object.keys(graph)) visit(node, [])
  return cycles
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const problems = checkRooms(fileURLToPath(new URL('../src', import.meta.url)))
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) process.exitCode = 1
}
