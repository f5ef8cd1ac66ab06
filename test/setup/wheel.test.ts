import { expect, test } from 'vitest'
import { cpuRequirements, cudaRequirements, parseRecord, parseRequires, wheelPlace } from '../../src/setup/wheel.js'
import { torchRequires } from '../support/setup.js'

test('RECORD lines, quoted names among them', () => {
  const record = parseRecord('a/b.h,sha256=AbC-_1,3\r\n"a,b",sha256=x,1\r\nx.dist-info/RECORD,,\r\n')
  expect([...record]).toEqual([
    ['a/b.h', 'AbC-_1'],
    ['a,b', 'x'],
  ])
})

test('requirements are read from the head of METADATA only', () => {
  expect(parseRequires('Name: x\nRequires-Dist: a==1; extra == "b"\n\nRequires-Dist: prose\n')).toEqual([
    'a==1; extra == "b"',
  ])
})

test('with CUDA, the libraries from NVIDIA and the headers they need', () => {
  expect(cudaRequirements(torchRequires)).toEqual([torchRequires[1], torchRequires[2], 'cuda-toolkit[crt]==13.0.3'])
})

test('without CUDA, only what libtorch_cpu is linked against', () => {
  expect(cpuRequirements(torchRequires)).toEqual(['nvidia-cuda-runtime==13.*', 'nvidia-cuda-cupti==13.*'])
  const older = [
    'nvidia-cuda-runtime-cu12==12.8.90; x',
    'nvidia-cuda-nvrtc-cu12==12.8.93; x',
    'nvidia-cuda-cupti-cu12==12.8.90; x',
  ]
  expect(cpuRequirements(older)).toEqual([older[0], older[2]])
  expect(cpuRequirements(['filelock'])).toEqual([])
})

test('which files of a wheel are kept', () => {
  const names = [
    'torch/include/ATen/ATen.h',
    'torch/lib/libtorch_cpu.so',
    'torch/lib/libgomp.so.1',
    'torch.libs/libopenblas.so.0',
    'torch/lib/libtorch_cuda.so',
    'torch/lib/libtorch_python.so',
    'torch/lib/libshm/alloc_info.h',
    'torch/nn/functional.py',
    'nvidia/cu13/lib/libcudart.so.13',
    'torch-2.13.0.dist-info/licenses/LICENSE',
    'torch-2.13.0.dist-info/METADATA',
  ]
  const kept = (cuda: boolean) => names.filter(name => wheelPlace({ cuda })(name) === name)
  expect(kept(false)).toEqual([...names.slice(0, 4), names[8], names[9]])
  expect(kept(true)).toEqual([...names.slice(0, 7), names[8], names[9]])
})
