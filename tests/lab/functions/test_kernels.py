"""Chapter 04 where there is no GPU: its kernels compile for those that learners have. And where there is no Triton."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.lab.functions.kernels import has_triton

SOURCE = Path(__file__).parents[3] / "source" / "04-custom-function.py"
SCRIPT = """
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

{kernels}

TYPES = {{"fp64": tl.float64, "fp16": tl.float32, "bf16": tl.float32}}
for capability in (75, 80, 90):
    for name, wide in TYPES.items():
        for kernel in (silu_mul_forward_kernel, silu_mul_backward_kernel):
            constants = {{"WIDE": wide, "BLOCK": 1024}}
            if kernel is silu_mul_backward_kernel:
                constants |= {{"NEEDS_GATE": True, "NEEDS_UP": True}}
            signature = {{a: "i32" if a == "n" else "*" + name for a in kernel.arg_names}} | dict.fromkeys(constants, "constexpr")
            source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
            compiled = triton.compile(source, target=GPUTarget("cuda", capability, 32))
            print(capability, name, kernel.__name__, len(compiled.asm["cubin"]) > 0)
"""


def kernels_of(text):
    """The @triton.jit functions of the reference answer."""
    answer = text.split('"grade_id": "TritonSiluMul"')[1].split("### BEGIN SOLUTION\n")[1].split("### END SOLUTION")[0]
    assert answer.count("@triton.jit") == 2
    return answer


@pytest.mark.skipif(not has_triton(), reason="Triton is not installed")
def test_the_reference_kernels_compile_for_sm_75_80_and_90(tmp_path):
    script = tmp_path / "compile_kernels.py"
    script.write_text(SCRIPT.format(kernels=kernels_of(SOURCE.read_text(encoding="utf-8"))))
    environment = {"TRITON_CACHE_DIR": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, env=environment)
    if "ptxas" in done.stderr and "not found" in done.stderr:
        pytest.skip("this Triton brings no assembler")
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert len(lines) == 3 * 3 * 2
    assert all(line.endswith("True") for line in lines)


WITHOUT = """
import sys
import jupytext
sys.modules["triton"] = None  # import and find_spec then answer as where it is not installed
space = {"__name__": "__main__"}
for cell in jupytext.read(sys.argv[1], fmt="py:percent").cells:
    grader = cell.metadata.get("nbgrader", {})
    if cell.cell_type == "code" and grader and (not grader["grade"] or grader["grade_id"] == "check-SiluMul"):
        exec(cell.source, space)
try:
    space["TritonSiluMul"].apply(space["gate"], space["up"])
except RuntimeError as error:
    print(error)
"""


def test_the_chapter_runs_where_triton_is_missing():
    done = subprocess.run([sys.executable, "-c", WITHOUT, SOURCE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Triton has no wheel for this machine." in done.stdout
    assert re.search(r"SiluMul: (\d+) of \1 checks pass", done.stdout)
    assert "Triton is not installed here" in done.stdout.splitlines()[-1]
