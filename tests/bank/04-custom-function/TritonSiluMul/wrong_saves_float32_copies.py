# misconception: half inputs are widened once, and the wide copies saved
# fails: inputs are saved themselves in every dtype and layout
# message: Save gate and up as they came
@triton.jit
def silu_mul_forward_kernel(gate_ptr, up_ptr, out_ptr, n, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    gate = tl.load(gate_ptr + i, mask=mask, other=0.0).to(WIDE)
    up = tl.load(up_ptr + i, mask=mask, other=0.0).to(WIDE)
    tl.store(out_ptr + i, gate * tl.sigmoid(gate) * up, mask=mask)


@triton.jit
def silu_mul_backward_kernel(grad_ptr, gate_ptr, up_ptr, grad_gate_ptr, grad_up_ptr, n, WIDE: tl.constexpr,
                             NEEDS_GATE: tl.constexpr, NEEDS_UP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    grad = tl.load(grad_ptr + i, mask=mask, other=0.0).to(WIDE)
    gate = tl.load(gate_ptr + i, mask=mask, other=0.0).to(WIDE)
    sig = tl.sigmoid(gate)
    if NEEDS_GATE:
        up = tl.load(up_ptr + i, mask=mask, other=0.0).to(WIDE)
        tl.store(grad_gate_ptr + i, grad * up * sig * (1 + gate * (1 - sig)), mask=mask)
    if NEEDS_UP:
        tl.store(grad_up_ptr + i, grad * gate * sig, mask=mask)


class TritonSiluMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
        dtype = gate.dtype
        if dtype in (torch.float16, torch.bfloat16):
            gate, up = gate.float(), up.float()
        ctx.save_for_backward(gate, up)
        out = torch.empty_like(gate, dtype=dtype, memory_format=torch.contiguous_format)
        n, block = out.numel(), 4096
        wide = tl.float64 if gate.dtype == torch.float64 else tl.float32
        silu_mul_forward_kernel[(triton.cdiv(n, block),)](gate.contiguous(), up.contiguous(), out, n, WIDE=wide, BLOCK=block)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        gate, up = ctx.saved_tensors
        needs_gate, needs_up = ctx.needs_input_grad
        grad, n, block = grad.contiguous(), gate.numel(), 4096
        grad_gate = torch.empty_like(gate, dtype=grad.dtype, memory_format=torch.contiguous_format) if needs_gate else None
        grad_up = torch.empty_like(up, dtype=grad.dtype, memory_format=torch.contiguous_format) if needs_up else None
        wide = tl.float64 if gate.dtype == torch.float64 else tl.float32
        # A kernel takes no None: where nothing is stored, any pointer will do.
        silu_mul_backward_kernel[(triton.cdiv(n, block),)](
            grad, gate.contiguous(), up.contiguous(), grad if grad_gate is None else grad_gate, grad if grad_up is None else grad_up, n,
            WIDE=wide, NEEDS_GATE=needs_gate, NEEDS_UP=needs_up, BLOCK=block)
        return grad_gate, grad_up
