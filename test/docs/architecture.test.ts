import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { arrows } from '../../tools/check-rooms.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8')

test.each(['docs/architecture.md', 'CONTRIBUTING.md'])('every file that %s names is there', name => {
  const text = readFileSync(join(root, name), 'utf8')
  const paths = [...text.matchAll(/\b(?:src|test|native|tools|bench|docs)\/[\w./-]*\w/g)].map(([path]) => path)
  expect(paths.length).toBeGreaterThan(5)
  expect(paths.filter(path => !/NAME|FAMILY/.test(path) && !existsSync(join(root, path)))).toEqual([])
})

test('the picture and the table are the rooms there are', () => {
  const folders = readdirSync(join(root, 'src'), { withFileTypes: true }).filter(entry => entry.isDirectory())
  const rooms = folders.map(({ name }) => name).sort()
  const listed = [...page.matchAll(/^\| \[`(\w+)`\]/gm)].map(([, name]) => name)
  expect(listed.sort()).toEqual(rooms)
  expect(Object.keys(arrows).sort()).toEqual(rooms)
  const contributing = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8')
  expect([...contributing.matchAll(/^src\/(\w+)\/ /gm)].map(([, name]) => name).sort()).toEqual(rooms)
})

test('what may import what is what the picture shows, at first hand or further down', () => {
  const drawn = [...page.matchAll(/^ {2}(\w+) --> (\w+)$/gm)].map(([, from, to]) => [from!, to!] as const)
  for (const [from, to] of drawn) expect(arrows[from], `${from} --> ${to} is drawn`).toContain(to)
  const below = (room: string): string[] =>
    drawn.filter(([from]) => from === room).flatMap(([, to]) => [to, ...below(to)])
  for (const [from, allowed] of Object.entries(arrows))
    for (const to of allowed) expect(below(from), `${from} may import ${to}`).toContain(to)
})
