// Rooms (the folders of src/) import each other through their index.ts alone, and only in the directions below. `npm run lint`
// runs this; tests may import what they like.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What each room may import. Lower rooms come first; an arrow that is not here is a decision to make, and to write down here. */
export const arrows = {
  errors: [],
  progress: [],
  files: ['errors'],
  http: [],
  watchdog: [],
  tensor: ['errors', 'files', 'watchdog'],
  kernels: ['errors', 'tensor'],
  decoder: ['errors', 'files', 'tensor', 'kernels'],
  model: ['errors', 'files', 'tensor', 'kernels', 'decoder'],
  text: ['errors', 'files'],
  rollout: ['errors', 'files', 'http', 'tensor', 'kernels', 'decoder', 'model', 'text'],
  serve: ['errors', 'files', 'model', 'text', 'rollout'],
  data: ['errors', 'files', 'text'],
  reward: ['errors', 'files', 'http', 'watchdog', 'tensor', 'model', 'text', 'data'],
  experience: ['errors', 'model', 'text', 'rollout', 'data', 'reward'],
  run: ['errors', 'files'],
  launch: ['errors'],
  train: [
    'errors',
    'files',
    'progress',
    'tensor',
    'decoder',
    'model',
    'text',
    'rollout',
    'data',
    'reward',
    'experience',
    'run',
    'launch',
  ],
  evaluate: ['errors', 'files', 'tensor', 'model', 'text', 'rollout', 'data', 'reward', 'experience', 'run', 'train'],
  pipeline: [
    'errors',
    'files',
    'progress',
    'tensor',
    'model',
    'text',
    'rollout',
    'data',
    'reward',
    'experience',
    'run',
    'train',
    'evaluate',
  ],
  demo: ['errors', 'files', 'progress', 'tensor', 'model', 'text', 'rollout', 'run', 'train'],
  setup: ['errors', 'files', 'progress'],
  cli: [
    'errors',
    'files',
    'progress',
    'tensor',
    'kernels',
    'decoder',
    'model',
    'text',
    'rollout',
    'serve',
    'data',
    'reward',
    'experience',
    'run',
    'train',
    'evaluate',
    'pipeline',
    'demo',
    'setup',
    'launch',
  ],
}

/** Folders of formulas: what reads files, clocks or networks comes in as an argument. */
export const pure = ['experience', 'train/losses']

/**
 * Everything that is wrong with a tree of rooms, as `file:line: what, and what to do`.
 *
 * @param {string} source the folder of the rooms
 * @param {Readonly<Record<string, readonly string[]>>} allowed
 * @returns {string[]}
 */
export function checkRooms(source, allowed = arrows) {
  const problems = tableProblems(allowed)
  for (const file of readdirSync(source, { recursive: true, encoding: 'utf8' }).sort()) {
    if (!file.endsWith('.ts')) continue
    const [room, ...rest] = file.split(sep)
    const place = join(relative(process.cwd(), source), file)
    if (rest.length === 0) {
      problems.push(`${place}: a file outside the rooms; move it into the lowest room that can own it`)
      continue
    }
    if (!(room in allowed)) {
      problems.push(`${place}: there is no room "${room}"; add it and its arrows to tools/check-rooms.mjs`)
      continue
    }
    for (const { specifier, line } of importsOf(readFileSync(join(source, file), 'utf8'))) {
      const problem = importProblem({ source, file, room, specifier, allowed })
      if (problem) problems.push(`${place}:${line}: ${problem}`)
    }
  }
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
  if (target.length !== 2 || target[1] !== 'index.js')
    return `import from '${specifier.slice(0, specifier.indexOf(other) + other.length)}/index.js', and export there what is missing`
  return undefined
}

/** `import ... from 'x'`, `export ... from 'x'`, `import 'x'` and `import('x')`, outside comments. */
function importsOf(text) {
  const code = text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, comment => comment.replace(/[^\n]/g, ' '))
  return [...code.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'([^'\n]+)'/g)].map(({ 1: specifier, index }) => ({
    specifier,
    line: code.slice(0, index).split('\n').length,
  }))
}

/** An arrow that leads back is a cycle, however long the way. */
function tableProblems(allowed) {
  const problems = []
  const done = new Set()
  const visit = (room, path) => {
    if (path.includes(room)) problems.push(`tools/check-rooms.mjs: a cycle of rooms: ${[...path, room].join(' -> ')}`)
    if (path.includes(room) || done.has(room)) return
    for (const other of allowed[room] ?? []) visit(other, [...path, room])
    done.add(room)
  }
  for (const room of Object.keys(allowed)) visit(room, [])
  return problems
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const problems = checkRooms(fileURLToPath(new URL('../src', import.meta.url)))
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) process.exitCode = 1
}
