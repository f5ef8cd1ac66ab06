/** Links between pages lead somewhere, down to the heading. */
import { existsSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { pages, pageText, root } from './blocks.js'

/** As GitHub makes an anchor of a heading: small letters, no punctuation, dashes for spaces. */
const anchor = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

const prose = (page: string): string => pageText(page).replaceAll(/^ *```.*?^ *```$/gms, '')
const anchors = (page: string): string[] =>
  [...prose(page).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchor(heading!))

test.each(pages)('%s has no dead links', page => {
  const targets = [...prose(page).matchAll(/\]\(([^()\s]+)\)/g)].map(([, target]) => target!)
  const dead = targets
    .filter(target => !/^(https?|mailto):/.test(target))
    .filter(target => {
      const [path = '', heading] = target.split('#')
      const file = path === '' ? page : relative('.', join(dirname(page), path))
      if (!existsSync(join(root, file))) return true
      return heading !== undefined && !anchors(file).includes(heading)
    })
  expect(dead).toEqual([])
})

test('the README has every page', () => {
  const readme = pageText('README.md')
  const linked = pages.filter(page => readme.includes(`](${page})`))
  // The lab log and the fields of requests are reached from the pages they belong to.
  const inner = ['README.md', 'docs/lab-log.md', 'docs/serve-fields.md']
  expect(pages.filter(page => !linked.includes(page) && !inner.includes(page))).toEqual([])
})
