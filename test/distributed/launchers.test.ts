import { expect, onTestFinished, test } from 'vitest'
import { devicesProblem, plannedRanks, rankDevices } from '../../src/distributed/devices.js'
import { firstHost, launchedRank } from '../../src/distributed/environment.js'
import { openLaunched, serveLaunched } from '../../src/distributed/join.js'
import { Ranks } from '../../src/distributed/ranks.js'
import { native } from '../../src/tensor/native.js'

const torchrun = {
  ...{ RANK: '3', WORLD_SIZE: '4', LOCAL_RANK: '1', LOCAL_WORLD_SIZE: '2', MASTER_ADDR: 'box-1', MASTER_PORT: '29400' },
  ...{ TORCHELASTIC_RUN_ID: 'job', TORCHELASTIC_RESTART_COUNT: '2', TORCHELASTIC_USE_AGENT_STORE: 'True' },
}

test('torchrun: the store of its agent, and keys of this restart', () => {
  expect(launchedRank(torchrun)).toEqual({
    ...{ rank: 3, size: 4, localRank: 1, localSize: 2, store: 'agent', job: 'whetstone/job/2' },
    master: { host: 'box-1', port: 29_400 },
  })
  expect(launchedRank({ ...torchrun, TORCHELASTIC_USE_AGENT_STORE: 'False' })).toMatchObject({ store: 'rank 0' })
})

test('a PyTorchJob has one process on each machine; by hand on one machine, all are there', () => {
  const pod = { RANK: '1', WORLD_SIZE: '3', MASTER_ADDR: 'job-master-0', MASTER_PORT: '23456' }
  expect(launchedRank(pod)).toMatchObject({ rank: 1, size: 3, localRank: 0, localSize: 1, store: 'rank 0' })
  expect(launchedRank({ ...pod, MASTER_ADDR: 'localhost' })).toMatchObject({ localRank: 1, localSize: 3 })
})

test('Slurm: the names of a step, and a port that follows from it; a batch script is no rank', () => {
  const step = {
    ...{ SLURM_PROCID: '5', SLURM_LOCALID: '1', SLURM_NTASKS: '8', SLURM_STEP_ID: '0', SLURM_JOB_ID: '4711' },
    ...{ SLURM_STEP_NODELIST: 'gpu[03-04,9],login', SLURM_STEP_TASKS_PER_NODE: '4(x2)', SLURM_NNODES: '2' },
  }
  const found = launchedRank(step)!
  expect(found).toMatchObject({ rank: 5, size: 8, localRank: 1, localSize: 4, job: 'whetstone/4711.0/0' })
  expect(found.master.host).toBe('gpu03')
  expect(found.master.port).toBe(launchedRank({ ...step, SLURM_PROCID: '0' })!.master.port)
  expect(found.master.port).not.toBe(launchedRank({ ...step, SLURM_JOB_ID: '4712' })!.master.port)
  expect(launchedRank({ ...step, SLURM_STEP_ID: undefined })).toBeUndefined()
  expect(['node7', 'a[1-2]b[01,3],c', ''].map(firstHost)).toEqual(['node7', 'a1b01', undefined])
})

test('no launcher, or one process; what is wrong in an environment is named', () => {
  expect(launchedRank({})).toBeUndefined()
  expect(launchedRank({ RANK: '0', WORLD_SIZE: '1' })).toBeUndefined()
  const wrong = (over: object) => () => launchedRank({ ...torchrun, ...over })
  expect(wrong({ RANK: '4' })).toThrow('rank 4 of a job of 4; ranks count from 0')
  expect(wrong({ RANK: '-1' })).toThrow('RANK is "-1"; expected a whole number')
  expect(wrong({ MASTER_PORT: undefined })).toThrow('MASTER_PORT is not set')
  expect(wrong({ LOCAL_RANK: '2' })).toThrow('LOCAL_RANK is 2, and this machine has 2 ranks')
})

test('devices: which ranks compute where', () => {
  const box = { gpus: 4, collectives: true }
  const laptop = { gpus: 0, collectives: true }
  expect(rankDevices({ device: 'auto' }, box)).toEqual(['cuda'])
  expect(rankDevices({ devices: 'all' }, box)).toEqual(['cuda:0', 'cuda:1', 'cuda:2', 'cuda:3'])
  expect(rankDevices({ device: 'cuda', devices: 2 }, box)).toEqual(['cuda:0', 'cuda:1'])
  expect(rankDevices({ devices: [3, 1] }, box)).toEqual(['cuda:3', 'cuda:1'])
  expect(rankDevices({ device: 'cpu', devices: 3 }, box)).toEqual(['cpu', 'cpu', 'cpu'])
  expect(rankDevices({ devices: 'all' }, laptop)).toEqual(['cpu'])
  expect(() => rankDevices({ devices: 5 }, box)).toThrow('devices: 5 GPUs, and this machine has 4')
  expect(() => rankDevices({ devices: [4] }, box)).toThrow('devices: there is no GPU 4')
  expect(() => rankDevices({ devices: [0] }, laptop)).toThrow('names GPUs, and this machine has none')
  const old = { gpus: 4, collectives: false }
  expect(rankDevices({ devices: 1 }, old)).toEqual(['cuda:0'])
  expect(() => rankDevices({ devices: 2 }, old)).toThrow('built without c10d')
  expect(devicesProblem({ device: 'cuda:1', devices: 2 })).toContain('set device to cuda, or leave devices out')
  expect(devicesProblem({ device: 'cpu', devices: [0] })).toContain('names GPUs, and device is cpu')
  expect(plannedRanks({ device: 'cpu', devices: 2 }, laptop)).toEqual({ ranks: 2, sharing: 2 })
  expect(plannedRanks({ device: 'cuda', devices: 8 }, laptop)).toEqual({ ranks: 8, sharing: 1 })
  expect(plannedRanks({ devices: [0, 0] }, box)).toEqual({ ranks: 2, sharing: 2 })
  // A launcher has decided, for machines that this one does not know.
  const job = { size: 32, localSize: 8 }
  expect(plannedRanks({ device: 'cpu' }, box, job)).toEqual({ ranks: 32, sharing: 8 })
  expect(plannedRanks({}, { gpus: 8 }, job)).toEqual({ ranks: 32, sharing: 1 })
  expect(plannedRanks({}, box, job)).toEqual({ ranks: 32, sharing: 2 })
  expect(plannedRanks({ device: 'cuda' }, laptop, job)).toEqual({ ranks: 32, sharing: 1 })
})

test('a libtorch without c10d: one process trains, and more are refused', async () => {
  const { openStore } = native
  onTestFinished(() => void Object.assign(native, { openStore }))
  Object.assign(native, { openStore: undefined })
  expect(await Ranks.of({ device: 'cpu', devices: 1 })).toMatchObject({ size: 1, device: 'cpu' })
  await expect(Ranks.of({ device: 'cpu', devices: 2 })).rejects.toThrow('2 ranks need collectives, and this libtorch')
  const launched = launchedRank({ ...torchrun, RANK: '0', LOCAL_RANK: '0' })!
  await expect(openLaunched(launched, {})).rejects.toThrow('the launcher started 4 ranks, and this libtorch was built')
  await expect(serveLaunched({ ...launched, rank: 1 })).rejects.toThrow('this libtorch was built without c10d')
})
