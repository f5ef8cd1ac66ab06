import { mkdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { hubSettings } from '../../src/hub/index.js'
import { temporaryDirectory } from '../support/files.js'

test('the environment is read as Python reads it', () => {
  expect(hubSettings({ HF_HUB_DISABLE_IMPLICIT_TOKEN: '1' })).toEqual({
    endpoint: 'https://huggingface.co',
    cache: join(homedir(), '.cache/huggingface/hub'),
    token: undefined,
    network: 'online',
  })
  expect(hubSettings({ XDG_CACHE_HOME: '/x' }).cache).toBe('/x/huggingface/hub')
  expect(hubSettings({ HF_HOME: '~/hf' }).cache).toBe(join(homedir(), 'hf/hub'))
  expect(hubSettings({ HF_HOME: '/h', HF_HUB_CACHE: '/c' }).cache).toBe('/c')
  expect(hubSettings({ HF_ENDPOINT: 'http://mirror:8080/' }).endpoint).toBe('http://mirror:8080')
  for (const on of ['1', 'true', 'YES', 'on']) expect(hubSettings({ HF_HUB_OFFLINE: on }).network).toBe('offline')
  for (const off of ['0', '', 'false']) expect(hubSettings({ HF_HUB_OFFLINE: off }).network).toBe('online')
})

test('the token comes from the environment, or from where `hf auth login` keeps it', () => {
  const home = temporaryDirectory()
  mkdirSync(home, { recursive: true })
  expect(hubSettings({ HF_HOME: home }).token).toBeUndefined()
  writeFileSync(join(home, 'token'), 'hf_kept\n')
  expect(hubSettings({ HF_HOME: home }).token).toBe('hf_kept')
  expect(hubSettings({ HF_HOME: home, HF_TOKEN: ' hf_given ' }).token).toBe('hf_given')
  expect(hubSettings({ HF_HOME: home, HF_HUB_DISABLE_IMPLICIT_TOKEN: '1' }).token).toBeUndefined()
})

test('a wrong setting is named without its value', () => {
  expect(() => hubSettings({ HF_ENDPOINT: 'huggingface.co' })).toThrow('HF_ENDPOINT: expected the address of a server')
  expect(() => hubSettings({ HF_TOKEN: 'se cret' })).toThrow(/^HF_TOKEN: expected printable characters without spaces$/)
})
